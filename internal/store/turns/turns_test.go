package turns

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
)

// readers records the reads that have got their places.
type readers struct {
	*Turns
	t    *testing.T
	went []string // orgs in the order in which they were served
}

func (r *readers) wait(org string) {
	go func() {
		if err := r.Take(context.Background(), org); err != nil {
			r.t.Error(err)
			return
		}
		r.went = append(r.went, org)
	}()
	synctest.Wait()
}

func (r *readers) take(org string) {
	r.t.Helper()
	if err := r.Take(r.t.Context(), org); err != nil {
		r.t.Fatal(err)
	}
}

func (r *readers) leave(org string) {
	r.Leave(org)
	synctest.Wait()
}

// TestAReadWaitsForOneOfAnotherOrg checks that a new read waits for at most one read of another
// org, however many reads of that org are waiting.
func TestAReadWaitsForOneOfAnotherOrg(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &readers{Turns: New(1, 1), t: t}
		r.take("hostile")
		for range 1000 {
			r.wait("hostile")
		}
		r.wait("quiet")
		r.wait("quiet")
		for range 1002 {
			r.leave(last(r.went, "hostile"))
		}
		if got := fmt.Sprint(r.went[:5]); got != "[hostile quiet hostile quiet hostile]" {
			t.Errorf("served first were %s", got)
		}
		if len(r.went) != 1002 {
			t.Errorf("%d of 1002 were served", len(r.went))
		}
	})
}

// last returns the last org in `went`, the list of the reads that have got a place. If the list is
// empty, it returns the parameter `first`.
func last(went []string, first string) string {
	if len(went) == 0 {
		return first
	}
	return went[len(went)-1]
}

// TestOneOrgHasNotAllPlaces checks that one org does not get all of several places, so that a read
// of another org gets a place at once.
func TestOneOrgHasNotAllPlaces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for places, each := range map[int]int{1: 1, 2: 1, 3: 1, 4: 2, 6: 4, 16: 12, 21: 16} {
			r := &readers{Turns: New(places, 1), t: t}
			for range places + 1 {
				r.wait("hostile")
			}
			if len(r.went) != each {
				t.Errorf("of %d places one org has %d, want %d", places, len(r.went), each)
			}
			if each < places {
				r.take("quiet")
				r.leave("quiet")
			}
			for served := 0; served <= places; served++ {
				r.leave("hostile")
			}
			if len(r.went) != places+1 || r.free != places || len(r.held)+len(r.waiting)+len(r.order) != 0 {
				t.Errorf("of %d places %d are free at the end", places, r.free)
			}
		}
	})
}

// TestTheProcessHasAllPlaces checks that reads of the server process itself can use all places.
func TestTheProcessHasAllPlaces(t *testing.T) {
	r := &readers{Turns: New(4, 1), t: t}
	for range 4 {
		r.take("")
	}
}

// TestWhoLeavesIsNotServed checks that a read whose context has ended gets no place. If the read
// got a place at the moment at which its context ended, the place must be released.
func TestWhoLeavesIsNotServed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &readers{Turns: New(1, 1), t: t}
		r.take("one")
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- r.Take(ctx, "two") }()
		synctest.Wait()
		r.wait("three")
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("it ends with %v", err)
		}
		r.leave("one")
		if fmt.Sprint(r.went) != "[three]" {
			t.Errorf("served are %v", r.went)
		}
		w := r.enter("two")
		r.leave("three") // now the org "two" gets the place
		r.withdraw("two", w)
		if r.free != 1 {
			t.Error("a place was lost")
		}
	})
}

// TestCompanyTakesPlaces checks that an org has fewer places while another org is active. When the
// other org is no longer active, the first org must have its usual number of places again.
func TestCompanyTakesPlaces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &readers{Turns: New(16, 2), t: t}
		r.take("quiet")
		r.leave("quiet")
		for range 20 {
			r.wait("hostile")
		}
		if len(r.went) != 2 {
			t.Errorf("beside another org one has %d places", len(r.went))
		}
		for range 20 {
			r.leave("hostile")
		}
		for range lately {
			r.take("hostile")
			r.leave("hostile")
		}
		r.went = nil
		for range 20 {
			r.wait("hostile")
		}
		if len(r.went) != 12 {
			t.Errorf("alone it has %d places", len(r.went))
		}
		for range 20 {
			r.leave("hostile")
		}
	})
}
