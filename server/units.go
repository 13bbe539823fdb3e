package server

import (
	"errors"
	"fmt"
	"log/slog"
	"math"
	"strconv"
	"strings"
	"time"
)

// Size is a number of bytes, written plainly or in KiB, MiB, GiB, TiB.
type Size int64

// The units a Size may have, the largest first.
var sizeUnits = []struct {
	suffix string
	bytes  Size
}{{"TiB", 1 << 40}, {"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}}

// UnmarshalText reads "1024", "16KiB" or "16 KiB".
func (s *Size) UnmarshalText(text []byte) error {
	digits, unit := string(text), Size(1)
	for _, u := range sizeUnits {
		if rest, ok := strings.CutSuffix(digits, u.suffix); ok {
			digits, unit = strings.TrimSuffix(rest, " "), u.bytes
			break
		}
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n < 0 || digits[0] == '+' {
		return fmt.Errorf("size %q is not a number of bytes, KiB, MiB, GiB or TiB", text)
	}
	if Size(n) > math.MaxInt64/unit {
		return fmt.Errorf("size %q is too large", text)
	}
	*s = Size(n) * unit
	return nil
}

// String is the form with the largest unit that loses nothing.
func (s Size) String() string {
	for _, u := range sizeUnits {
		if s != 0 && s%u.bytes == 0 {
			return strconv.FormatInt(int64(s/u.bytes), 10) + u.suffix
		}
	}
	return strconv.FormatInt(int64(s), 10)
}

// Duration is a time span, written as Go does or in whole days ("7d").
type Duration time.Duration

const day = 24 * time.Hour

// UnmarshalText reads "90s", "1h30m" or "7d".
func (d *Duration) UnmarshalText(text []byte) error {
	if digits, ok := strings.CutSuffix(string(text), "d"); ok {
		days, err := strconv.ParseUint(digits, 10, 16)
		if errors.Is(err, strconv.ErrRange) {
			return fmt.Errorf("time %q is longer than %d days", text, math.MaxUint16)
		}
		if err != nil {
			return fmt.Errorf("time %q is not a number of days", text)
		}
		*d = Duration(time.Duration(days) * day)
		return nil
	}
	parsed, err := time.ParseDuration(string(text))
	if err != nil || parsed < 0 {
		return fmt.Errorf("time %q is neither a Go duration nor a number of days", text)
	}
	*d = Duration(parsed)
	return nil
}

// String is whole days where they fit, else Go's form.
func (d Duration) String() string {
	if t := time.Duration(d); t == 0 || t%day != 0 {
		return t.String()
	}
	return strconv.FormatInt(int64(time.Duration(d)/day), 10) + "d"
}

// Secret is a text that prints as nothing of itself, in fmt and in slog.
type Secret string

// String implements fmt.Stringer.
func (Secret) String() string { return "(secret)" }

// GoString keeps %#v quiet too.
func (Secret) GoString() string { return "(secret)" }

// LogValue implements slog.LogValuer.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }
