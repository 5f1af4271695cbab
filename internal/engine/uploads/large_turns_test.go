package uploads

import (
	"context"
	"testing"
	"testing/synctest"
)

// TestLargeContentsOfAnOrgKeepNoOtherWaiting checks that a large content waits while another large
// content of its org is checked, but not while a large content of another org is checked. The wait
// ends when its context ends. At the end, largeTurns remembers no org.
func TestLargeContentsOfAnOrgKeepNoOtherWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLargeTurns()
		first, err := l.ofOrg(t.Context(), "a")
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		second := make(chan error, 1)
		go func() { _, err := l.ofOrg(ctx, "a"); second <- err }()
		synctest.Wait()
		if len(second) != 0 {
			t.Error("two contents of an org have their turn")
		}
		other, err := l.ofOrg(t.Context(), "b")
		if err != nil {
			t.Fatal(err)
		}
		cancel()
		if err := <-second; err == nil {
			t.Error("a turn was taken after the end")
		}
		first()
		other()
		if len(l.of) != 0 {
			t.Errorf("%d orgs are left", len(l.of))
		}
	})
}
