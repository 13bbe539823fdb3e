package store_test

import (
	"testing"
	"time"

	"holdfast/store"
)

// ha1 is an HA1 as of a user's name.
func ha1(user string) store.HA1 {
	return store.HA1{MD5: []string{"md5-" + user, "md5-lower"}, SHA256: []string{"sha-" + user}}
}

// TestHA1IsKeptOnlyWhileServed: accounts get one from KeepHA1(true) on, and lose
// it with KeepHA1(false).
func TestHA1IsKeptOnlyWhileServed(t *testing.T) {
	f := newFixture(t)
	ctx := t.Context()
	logins := func() map[string]store.HA1 {
		t.Helper()
		u, all, err := f.DigestLogins(ctx, "ADA")
		must(t, err)
		wantEqual(t, "user", u, f.user)
		found := map[string]store.HA1{}
		for _, l := range all {
			found[l.Account.Name] = l.HA1
			if !l.Account.Digest {
				t.Errorf("account %q does not say so", l.Account.Name)
			}
		}
		return found
	}
	if a := f.account("before", store.NewAccount{HA1: ha1}); a.Digest {
		t.Error("one is kept that nobody asked for")
	}
	wantEqual(t, "kept", len(logins()), 0)
	must(t, f.KeepHA1(ctx, true))
	must(t, f.KeepHA1(ctx, true))
	if a := f.account("phone", store.NewAccount{HA1: ha1, ExpiresAt: f.now().Add(time.Hour)}); !a.Digest {
		t.Error("none is kept")
	}
	f.account("without", store.NewAccount{})
	all := logins()
	if len(all) != 1 || len(all["phone"].MD5) != 2 || all["phone"].MD5[0] != "md5-ada" || all["phone"].SHA256[0] != "sha-ada" {
		t.Errorf("kept: %v", all)
	}
	f.advance(2 * time.Hour)
	wantEqual(t, "after the end", len(logins()), 0)
	must(t, f.KeepHA1(ctx, false))
	wantEqual(t, "rows with one", f.number(`SELECT count(*) FROM accounts WHERE ha1_md5 IS NOT NULL OR ha1_sha256 IS NOT NULL`), 0)
	if a := f.account("after", store.NewAccount{HA1: ha1}); a.Digest {
		t.Error("one is kept after it was to end")
	}
	accounts, err := f.Accounts(ctx, "ada")
	must(t, err)
	wantEqual(t, "accounts", len(accounts), 4)
	_, _, err = f.DigestLogins(ctx, "nobody")
	wantError(t, err, store.ErrNotFound)
}
