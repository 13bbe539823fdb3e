package rest

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"holdfast/lockns"
	"holdfast/store"
)

// Time is a moment in UTC (RFC 3339).
type Time = time.Time

// timeOrNil is a moment that may not be: nil for the zero time.
func timeOrNil(t time.Time) *Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}

// LockRoot is the resource that a lock is rooted on.
type LockRoot struct {
	Kind string `json:"kind" enum:"workspace_root,folder,file"`
	ID   int64  `json:"id,omitempty" doc:"The id of the file or folder; absent for a workspace root, and for what this login cannot open."`
	Path string `json:"path,omitempty" doc:"Where it is, for people; absent for what this login cannot open."`
}

// LockState says for display how a resource is locked. It decides nothing.
type LockState struct {
	State   string    `json:"state" enum:"unlocked,direct,inherited"`
	Mode    string    `json:"mode,omitempty" enum:"exclusive,shared" doc:"Absent when unlocked."`
	Expires string    `json:"expires,omitempty" format:"date-time" doc:"The last moment of the lock; absent when it has no end."`
	Root    *LockRoot `json:"root,omitempty" doc:"With inherited: where the lock is rooted, without a path; without an id too, if this login cannot open it."`
}

// lockState shows a state of the store's.
func lockState(s lockns.State) LockState {
	out := LockState{State: string(s.Kind), Mode: string(s.Mode)}
	if !s.ExpiresAt.IsZero() {
		out.Expires = s.ExpiresAt.UTC().Format(time.RFC3339Nano) // a text, since a list has many and a Time is slow to write
	}
	if s.Kind == "" {
		out.State = string(lockns.Unlocked)
	}
	if s.Kind == lockns.Inherited {
		out.Root = &LockRoot{Kind: string(s.Root.Kind), ID: s.Root.ID}
	}
	return out
}

// Resource is a file or a folder.
type Resource struct {
	ID          int64     `json:"id"`
	Kind        string    `json:"kind" enum:"file,folder"`
	Workspace   string    `json:"workspace" example:"team-3"`
	Parent      int64     `json:"parent,omitempty" doc:"The id of the folder it is in; absent for the topmost that this login opens."`
	Name        string    `json:"name" doc:"Empty for the root of a workspace."`
	Path        string    `json:"path,omitempty" doc:"Where it is, from the topmost folder that this login opens; absent in the list of a folder."`
	Size        int64     `json:"size" doc:"Bytes of content; 0 for a folder."`
	ETag        string    `json:"etag,omitempty" doc:"Files only: new with each content, for If-Match."`
	ContentType string    `json:"content_type,omitempty"`
	Created     Time      `json:"created"`
	Modified    Time      `json:"modified"`
	SHA256      string    `json:"sha256,omitempty" doc:"Files only, absent in lists."`
	LockState   LockState `json:"lock_state"`
}

// workspaceID is how a workspace is named in URLs: "personal-7", "team-3".
func workspaceID(ws lockns.Workspace) string { return fmt.Sprintf("%s-%d", ws.Kind, ws.ID) }

// parseWorkspace is the inverse of workspaceID; "personal" is the caller's own.
// What is no workspace's name is store.ErrNotFound.
func parseWorkspace(who *Caller, text string) (lockns.Workspace, error) {
	if text == string(lockns.Personal) {
		return who.User.Workspace(), nil
	}
	kind, digits, _ := strings.Cut(text, "-")
	id, err := strconv.ParseInt(digits, 10, 64)
	ws := lockns.Workspace{Kind: lockns.WorkspaceKind(kind), ID: id}
	if err != nil || ws.Kind != lockns.Personal && ws.Kind != lockns.Team || workspaceID(ws) != text {
		return lockns.Workspace{}, store.ErrNotFound
	}
	return ws, nil
}
