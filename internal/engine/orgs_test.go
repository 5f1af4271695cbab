package engine

import (
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/bubble"
)

// TestADisabledOrgIsNotClaimed checks that an execution of a disabled org stays PENDING when a
// signal wakes it: the signal does not hand the execution over to a waiting poll, and the poll does
// not claim the execution. When the org is enabled again, the poll claims the execution.
func TestADisabledOrgIsNotClaimed(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		b := newBench(t)
		_, err := b.e.CreateOrg(t.Context(), org)
		b.must(err)
		h := b.started()
		h.parks(0)
		poll := b.waits(b.d, b.poll(2))
		_, err = b.e.DisableOrg(t.Context(), org)
		b.must(err)
		b.signal(h.id, "go", "s1")
		if x := b.execution(h.id); x.Status != perdure.StatusPending {
			t.Errorf("the execution of a disabled org is %s, want PENDING", x.Status)
		}
		time.Sleep(5 * time.Second) // by the clock of the bubble (testing/synctest)
		select {
		case claims := <-poll.claims:
			t.Errorf("the waiting poll got %d claims", len(claims))
		default:
		}
		_, err = b.e.EnableOrg(t.Context(), org)
		b.must(err)
		if claims := <-poll.claims; len(claims) != 1 {
			t.Errorf("the poll got %d claims once the org was enabled", len(claims))
		}
	})
}

// TestKeysOfADisabledOrgAreRefused checks that every server refuses an API key within five seconds
// after its org was disabled, and accepts it within five seconds after the org was enabled again.
func TestKeysOfADisabledOrgAreRefused(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		b := newBench(t)
		other := New(Config{Store: b.s})
		_, err := b.e.CreateOrg(t.Context(), org)
		b.must(err)
		_, secret, err := b.e.CreateKey(t.Context(), org, "ci", perdure.KeyClient)
		b.must(err)
		_, err = other.Authenticate(t.Context(), secret)
		b.must(err)
		within := func(refused bool) {
			t.Helper()
			for since := time.Now(); ; time.Sleep(100 * time.Millisecond) {
				if _, err = other.Authenticate(t.Context(), secret); (err != nil) == refused {
					return
				}
				if time.Since(since) > 5*time.Second {
					t.Fatalf("after five seconds: %v", err)
				}
			}
		}
		for range 2 {
			_, err = b.e.DisableOrg(t.Context(), org)
			b.must(err)
			within(true)
			b.wantCode(err, perdure.PermissionDenied)
			_, err = b.e.EnableOrg(t.Context(), org)
			b.must(err)
			within(false)
		}
	})
}

// TestOrgsAreAudited checks that the creation, disabling and enabling of an org each write one
// audit record. A request that is refused, or that changes nothing, writes none.
func TestOrgsAreAudited(t *testing.T) {
	b := newBench(t)
	_, err := b.e.CreateOrg(t.Context(), "new")
	b.must(err)
	_, err = b.e.CreateOrg(t.Context(), "new")
	b.wantCode(err, perdure.AlreadyExists)
	_, err = b.e.CreateOrg(t.Context(), "New")
	b.wantCode(err, perdure.InvalidArgument)
	_, err = b.e.DisableOrg(t.Context(), "none")
	b.wantCode(err, perdure.NotFound)
	for range 2 {
		_, err = b.e.DisableOrg(t.Context(), "new")
		b.must(err)
	}
	_, err = b.e.EnableOrg(t.Context(), "new")
	b.must(err)
	page, err := b.s.AuditLog(t.Context(), "new", "", 10)
	b.must(err)
	var actions []perdure.AuditAction
	for _, r := range page.Items {
		actions = append(actions, r.Action)
	}
	want := []perdure.AuditAction{perdure.AuditOrgEnabled, perdure.AuditOrgDisabled, perdure.AuditOrgCreated}
	if len(actions) != 3 || actions[0] != want[0] || actions[1] != want[1] || actions[2] != want[2] {
		t.Errorf("the audit log says %v, want %v", actions, want)
	}
}
