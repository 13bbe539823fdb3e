package store

import "context"

// SetStepDone installs what happens after each file of a migration; nil removes
// it. No other migration may be under way.
func SetStepDone(hook func(ctx context.Context, file string) error) { stepDone = hook }
