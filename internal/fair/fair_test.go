package fair

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// crowd returns a share of two processors on which two orgs are active. Their budgets grow so fast
// that visits wait only for a place, never for the budget.
func crowd() *Share {
	s := New(2, 1_000_000)
	for _, org := range []string{"other", "busy"} {
		v := s.Visit(org)
		_ = v.Enter(context.Background()) // no visit has a place, so this does not wait
		v.Leave()
	}
	return s
}

// enter starts a visit of the org and calls Enter in a goroutine. The returned channel is closed
// when Enter has returned.
func enter(ctx context.Context, s *Share, org string) (*Visit, <-chan struct{}) {
	v, in := s.Visit(org), make(chan struct{})
	go func() { _ = v.Enter(ctx); close(in) }()
	synctest.Wait()
	return v, in
}

func entered(in <-chan struct{}) bool {
	synctest.Wait()
	select {
	case <-in:
		return true
	default:
		return false
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestAnOrgAloneHasTheWholeProcessor(t *testing.T) {
	s := New(2, 1)
	for range 100 {
		v := s.Visit("only")
		must(t, v.Enter(t.Context()))
		defer v.Leave()
	}
	if n := s.Waiting(); n != 0 {
		t.Errorf("%d visits wait", n)
	}
}

func TestAnOrgBesideOthersHasItsShare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := crowd()
		first, in := enter(t.Context(), s, "busy")
		second, in2 := enter(t.Context(), s, "busy")
		if !entered(in) || entered(in2) || s.Waiting() != 1 {
			t.Errorf("the first %v, the second %v, %d wait", entered(in), entered(in2), s.Waiting())
		}
		other, in3 := enter(t.Context(), s, "other")
		if !entered(in3) {
			t.Error("another org waits")
		}
		first.Leave()
		if !entered(in2) {
			t.Error("the second waits when the first has left")
		}
		first.Leave() // a second call has no effect
		second.Leave()
		other.Leave()
	})
}

func TestAVisitHasNoPlaceWhileItWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := crowd()
		first, _ := enter(t.Context(), s, "busy")
		ctx := With(t.Context(), first)
		done := Wait(ctx)
		Wait(ctx)() // has no effect, because the visit waits already
		second, in := enter(t.Context(), s, "busy")
		if !entered(in) {
			t.Error("a visit waits for one that itself waits")
		}
		back := make(chan struct{})
		go func() { done(); close(back) }()
		if entered(back) {
			t.Error("the first goes on while the second has the place")
		}
		second.Leave()
		if !entered(back) {
			t.Error("the first has not got its place again")
		}
		if third, in := enter(t.Context(), s, "busy"); entered(in) {
			t.Error("the first goes on without a place")
		} else {
			defer third.Leave()
		}
		first.Leave()
	})
}

// TestAVisitThatIsOverTakesNoPlace checks that a visit gets no place if Leave was called while the
// visit waited for one.
func TestAVisitThatIsOverTakesNoPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := crowd()
		first, _ := enter(t.Context(), s, "busy")
		second, _ := enter(t.Context(), s, "busy")
		second.Leave()
		first.Leave()
		synctest.Wait()
		third, in := enter(t.Context(), s, "busy")
		if !entered(in) {
			t.Error("a visit that is over has a place")
		}
		third.Leave()
		must(t, third.Enter(t.Context()))
		Wait(With(t.Context(), third))()
		if _, in := enter(t.Context(), s, "busy"); !entered(in) {
			t.Error("a visit that is over has entered again")
		}
	})
}

func TestAVisitKeepsItsPlaceForASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := crowd()
		defer beside(s)()
		first, _ := enter(t.Context(), s, "busy")
		second, in := enter(t.Context(), s, "busy")
		time.Sleep(999 * time.Millisecond)
		if entered(in) {
			t.Error("the place was given away too early")
		}
		time.Sleep(2 * time.Millisecond) // the budget is positive after one more millisecond
		if !entered(in) {
			t.Error("the second waits for more than a second")
		}
		first.Leave() // the visit has no place to release
		if third, in := enter(t.Context(), s, "busy"); entered(in) {
			t.Error("two have a place")
		} else {
			defer third.Leave()
		}
		second.Leave()
	})
}

// TestAVisitEndsWithItsContext checks that Enter returns the cause of the end of its context when
// the context ends, and that the visit then has no place.
func TestAVisitEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := crowd()
		first, _ := enter(t.Context(), s, "busy")
		ctx, cancel := context.WithCancel(t.Context())
		second, failed := s.Visit("busy"), make(chan error, 1)
		go func() { failed <- second.Enter(ctx) }()
		synctest.Wait()
		cancel()
		if err := <-failed; !errors.Is(err, context.Canceled) || s.Waiting() != 0 {
			t.Errorf("it ends with %v, and %d wait", err, s.Waiting())
		}
		second.Leave() // the visit has no place to release
		if third, in := enter(t.Context(), s, "busy"); entered(in) {
			t.Error("two have a place")
		} else {
			defer third.Leave()
		}
		first.Leave()
	})
}

func TestAPartOfARequestHasAPlaceOfItsOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := crowd()
		first, _ := enter(t.Context(), s, "busy")
		ctx := With(t.Context(), first)
		Compute(ctx)() // the visit has a place, so Compute does nothing
		if second, in := enter(t.Context(), s, "busy"); entered(in) {
			t.Error("two have a place")
		} else {
			second.Leave()
		}
		first.Leave()
		done := Compute(ctx)
		second, in := enter(t.Context(), s, "busy")
		if entered(in) {
			t.Error("a part of a request computes without a place")
		}
		done()
		if !entered(in) {
			t.Error("a part that is over keeps its place")
		}
		second.Leave()
	})
}

func TestAPartHasNoPlaceWhileItWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := crowd()
		first, _ := enter(t.Context(), s, "busy")
		first.Leave()
		part, done := Part(With(t.Context(), first))
		again := Wait(part)
		second, in := enter(t.Context(), s, "busy")
		if !entered(in) {
			t.Error("a part that waits keeps its place")
		}
		second.Leave()
		again()
		third, in := enter(t.Context(), s, "busy")
		if entered(in) {
			t.Error("a part that has waited computes without a place")
		}
		done()
		if !entered(in) {
			t.Error("a part that is over keeps its place")
		}
		third.Leave()
	})
}

func TestWithoutAShareNothingIsBounded(t *testing.T) {
	var s *Share
	v := s.Visit("any")
	must(t, errors.Join(v.Admit(t.Context()), v.Enter(t.Context())))
	v.Charge(time.Hour)
	Wait(With(t.Context(), v))()
	Wait(t.Context())()
	Compute(With(t.Context(), v))()
	Compute(t.Context())()
	v.Leave()
	if s.Waiting() != 0 || Again(t.Context(), t.Context()) != t.Context() {
		t.Error("a share that is off has visits")
	}
}
