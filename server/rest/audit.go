package rest

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"holdfast/store"
)

// AuditEntry is a line of the audit log.
type AuditEntry struct {
	ID        int64  `json:"id"`
	At        Time   `json:"at"`
	Event     string `json:"event" example:"team.added"`
	Actor     string `json:"actor" doc:"The name, at that time, of who did it; empty for the server and its operator's commands, and for who was not let in."`
	ActorID   int64  `json:"actor_id,omitempty"`
	Workspace string `json:"workspace,omitempty" doc:"Where it happened; absent when it concerns none."`
	Subject   string `json:"subject" doc:"Whom or what it was done to, by name."`
	Detail    string `json:"detail"`
}

func auditEntry(e store.AuditEntry) AuditEntry {
	out := AuditEntry{ID: e.ID, At: e.At, Event: e.Event, Actor: e.Actor, ActorID: e.ActorID, Subject: e.Subject, Detail: e.Detail}
	if e.Workspace.ID != 0 {
		out.Workspace = workspaceID(e.Workspace)
	}
	return out
}

// auditQuery says which entries are wanted.
type auditQuery struct {
	Paging
	Event     string    `query:"event" maxLength:"64" example:"session.refused"`
	Actor     string    `query:"actor" maxLength:"64" doc:"By name, as it was at that time."`
	Workspace string    `query:"workspace" pattern:"^(personal|(personal|team)-[0-9]{1,18})$" maxLength:"32"`
	Since     time.Time `query:"since" doc:"The first moment wanted."`
	Before    time.Time `query:"before" doc:"The first moment no longer wanted."`
}

func (a *API) registerAudit() {
	register(a, Administrator, huma.Operation{
		OperationID: "audit", Method: http.MethodGet, Path: "/admin/audit", Tags: []string{"Administration"}, Summary: "The audit log, the newest first",
	}, a.audit)
}

func (a *API) audit(ctx context.Context, who *Caller, in *auditQuery) (*struct{ Body Page[AuditEntry] }, error) {
	f := store.AuditFilter{Event: in.Event, Actor: in.Actor, Since: in.Since, Before: in.Before, Limit: in.Limit + 1}
	if in.Workspace != "" {
		ws, err := parseWorkspace(who, in.Workspace)
		if err != nil {
			return nil, err
		}
		f.Workspace = ws
	}
	list := listOf(who, "audit", in.Event, in.Actor, f.Workspace, in.Since.UnixMicro(), in.Before.UnixMicro())
	after, err := position[int64](a, list, in.Cursor)
	if err != nil {
		return nil, err
	}
	f.After = after
	all, err := a.o.Store.Audit(ctx, f)
	if err != nil {
		return nil, err
	}
	page, err := pageOf(a, list, in.Limit, all, func(e store.AuditEntry) int64 { return e.ID }, auditEntry)
	return &struct{ Body Page[AuditEntry] }{page}, err
}
