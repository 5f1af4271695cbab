package fair

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"runtime/metrics"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure"
)

// unpressed returns a share that assumes that goroutines never wait for a processor, and that
// visits use CPU time for as long as they have a place.
func unpressed(processors, percent int) *Share {
	s := New(processors, percent)
	s.pressed = func() bool { return false }
	s.scale.cpu = func() time.Duration { return 0 }
	return s
}

// computes makes one request of the org, which computes for the duration d. It returns how long the
// request waited for its place.
func computes(s *Share, org string, d time.Duration) (waited time.Duration) {
	v, began := s.Visit(org), time.Now()
	if v.Enter(context.Background()) != nil {
		return 0
	}
	defer v.Leave()
	waited = time.Since(began)
	time.Sleep(d)
	return waited
}

// light sends requests that together use a twentieth of a processor until ctx ends. It returns the
// longest time for which a request waited before it could compute.
func light(ctx context.Context, s *Share, org string) (longest time.Duration) {
	for ctx.Err() == nil {
		longest = max(longest, computes(s, org, time.Millisecond))
		time.Sleep(19 * time.Millisecond)
	}
	return longest
}

// beside keeps the org "other" active until stop is called.
func beside(s *Share) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	all.Go(func() { light(ctx, s, "other") })
	synctest.Wait()
	return func() { cancel(); all.Wait() }
}

// TestAnOrgOverItsBudgetWaits checks that a heavy org gets the processor time that light orgs do
// not use, and that the light orgs never wait.
func TestAnOrgOverItsBudgetWaits(t *testing.T) {
	for _, others := range []int{1, 4, 8} {
		synctest.Test(t, func(t *testing.T) {
			s := unpressed(1, 50)
			const window = 20 * time.Second
			ctx, cancel := context.WithTimeout(t.Context(), window)
			defer cancel()
			var all sync.WaitGroup
			for i := range others {
				all.Go(func() {
					if waited := light(ctx, s, fmt.Sprint("light ", i)); waited > 0 {
						t.Errorf("a light org waited %v", waited)
					}
				})
			}
			var mu sync.Mutex
			used := time.Duration(0)
			for range 10 {
				all.Go(func() {
					for ctx.Err() == nil {
						computes(s, "heavy", 10*time.Millisecond)
						mu.Lock()
						used += 10 * time.Millisecond
						mu.Unlock()
					}
				})
			}
			all.Wait()
			fair := window - time.Duration(others)*window/20
			if least, most := fair*9/10, fair+fair/20+burst; used < least || used > most {
				t.Errorf("beside %d light orgs the heavy one computed %v, not %v to %v", others, used, least, most)
			}
		})
	}
}

// TestHeavyOrgsShareEqually checks that four orgs get equal parts of the processors if each of them
// could use more than its part.
func TestHeavyOrgsShareEqually(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := unpressed(2, 50)
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		var all sync.WaitGroup
		var used [4]time.Duration
		for i := range used {
			cost := time.Duration(i+1) * 5 * time.Millisecond
			all.Go(func() {
				for ctx.Err() == nil {
					computes(s, fmt.Sprint(i), cost)
					used[i] += cost
				}
			})
		}
		all.Wait()
		for i, d := range used {
			if math.Abs(d.Seconds()-10) > 0.7 {
				t.Errorf("org %d computed %v, not about 10s", i, d)
			}
		}
	})
}

// TestPollsWaitForTheBudget checks that Afford waits while the org's budget is used up and another
// org is active, but for at most two seconds. Otherwise Afford does not wait.
func TestPollsWaitForTheBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := unpressed(2, 50)
		s.pressed = func() bool { return true } // so each org gets only its equal part, half a processor
		polls := func(org string, least, longest time.Duration) {
			t.Helper()
			began := time.Now()
			must(t, s.Visit(org).Afford(t.Context()))
			if waited := time.Since(began); waited < least || waited > longest {
				t.Errorf("a poll of %s waited %v, not %v to %v", org, waited, least, longest)
			}
		}
		s.Visit("busy").Charge(time.Minute)
		polls("busy", 0, 0) // no other org is active
		defer beside(s)()
		polls("busy", 0, 0)
		s.Visit("busy").Charge(burst + 500*time.Millisecond)
		polls("busy", 900*time.Millisecond, 1100*time.Millisecond)
		polls("quiet", 0, 0)
		s.Visit("busy").Charge(time.Minute)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := s.Visit("busy").Afford(ctx); err == nil {
			t.Error("a poll whose caller has gone continues")
		}
		s.Visit("busy").Charge(time.Minute)
		polls("busy", most, most)
		var none *Share
		must(t, none.Visit("busy").Afford(t.Context()))
	})
}

// TestUnderPressureOrgsHaveEqualParts checks that an org gets only its equal part of the processors
// while goroutines wait for a processor, and more while no goroutine waits.
func TestUnderPressureOrgsHaveEqualParts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, high := unpressed(4, 25), true
		s.pressed = func() bool { return high } // the caller has locked s.mu
		defer beside(s)()
		for _, want := range []time.Duration{5 * time.Second, 9500 * time.Millisecond, 5 * time.Second} {
			used := time.Duration(0)
			for end := time.Now().Add(10 * time.Second); time.Now().Before(end); used += 5 * time.Millisecond {
				computes(s, "heavy", 5*time.Millisecond)
			}
			if math.Abs((used - want).Seconds()) > 1 {
				t.Errorf("with the pressure %v it computed %v of 10s, not about %v", high, used, want)
			}
			s.mu.Lock()
			high = !high
			s.mu.Unlock()
		}
	})
}

// TestPressureIsThatOfTheLastLook checks the result of the method look. It is true if, since the
// last call, more than 1 % of the goroutines that waited for a processor waited for at least a
// millisecond.
func TestPressureIsThatOfTheLastLook(t *testing.T) {
	h := &metrics.Float64Histogram{Buckets: []float64{math.Inf(-1), 0, 0.0005, 0.001, 0.1, math.Inf(1)}, Counts: make([]uint64, 5)}
	var p pressure
	for i, c := range []struct {
		more [5]uint64
		high bool
	}{
		{[5]uint64{}, false},
		{[5]uint64{0, 1000, 1000, 20, 0}, false},
		{[5]uint64{0, 10, 0, 1, 0}, true},
		{[5]uint64{0, 0, 0, 0, 1}, true},
		{[5]uint64{0, 10, 10, 0, 0}, false},
		{[5]uint64{}, false},
	} {
		for at, n := range c.more {
			h.Counts[at] += n
		}
		if p.look(h) != c.high {
			t.Errorf("look %d is %v", i, !c.high)
		}
	}
}

// TestPressureOfThisProcess checks that the function pressed returns true while 100 goroutines
// share one processor.
func TestPressureOfThisProcess(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	if !crowded(New(1, 1), 100) {
		t.Error("100 goroutines of a millisecond each are no pressure on one processor")
	}
}

// crowded lets n goroutines compute for a millisecond each, and then returns the result of
// s.pressed.
func crowded(s *Share, n int) bool {
	s.pressed()
	var all sync.WaitGroup
	for range n {
		all.Go(func() {
			for end := time.Now().Add(time.Millisecond); time.Now().Before(end); {
			}
		})
	}
	all.Wait()
	return s.pressed()
}

// TestOnlyCPUTimeIsCharged checks that an org is charged only for CPU time. If the process uses the
// CPU for a quarter of the time in which visits have places, the org is charged less, and can
// compute for longer.
func TestOnlyCPUTimeIsCharged(t *testing.T) {
	for part, want := range map[time.Duration]time.Duration{4: 4 * 5 * time.Second, 1: 5 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			s, began, wall := unpressed(4, 25), time.Now(), time.Duration(0)
			s.pressed = func() bool { return true } // so each org gets only half a processor, its equal part
			s.scale.cpu = func() time.Duration { return time.Minute + wall/part }
			defer beside(s)()
			for time.Since(began) < 10*time.Second {
				computes(s, "heavy", 5*time.Millisecond)
				s.mu.Lock()
				wall += 5 * time.Millisecond
				s.mu.Unlock()
			}
			if want = min(want, 9*time.Second); wall < want*8/10 || wall > want*12/10 {
				t.Errorf("with a part of 1/%d it held a place for %v, not about %v", part, wall, want)
			}
		})
	}
}

func TestLevel(t *testing.T) {
	for _, c := range []struct {
		usages []float64
		want   float64
	}{
		{nil, 1},
		{[]float64{5}, 1},
		{[]float64{5, 5, 5, 5}, 0.25},
		{[]float64{0.9, 0.05, 0.05}, 0.9},
		{[]float64{0.2, 7, 0.1, 7}, 0.35},
		{[]float64{0, 0}, 1},
	} {
		if got := level(1, c.usages); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("orgs that use %v are limited at %v, want %v", c.usages, got, c.want)
		}
	}
}

// TestAnOrgAloneHasNoBudget checks that an org never waits while it is the only active one. When
// another org becomes active, the first org still has its full budget.
func TestAnOrgAloneHasNoBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := unpressed(2, 1)
		for range 100 {
			if waited := computes(s, "only", 500*time.Millisecond); waited > 0 {
				t.Fatalf("it waited %v", waited)
			}
		}
		computes(s, "other", 0)
		if waited := computes(s, "only", burst+time.Millisecond); waited > 0 {
			t.Errorf("with its whole budget it waited %v", waited)
		}
		if computes(s, "only", 0) == 0 {
			t.Error("without a budget it did not wait")
		}
		// The other org no longer counts as active, so the first org is the only active one again.
		time.Sleep(lately)
		computes(s, "only", burst+time.Millisecond)
		if waited := computes(s, "only", 0); waited > 0 {
			t.Errorf("alone again it waited %v", waited)
		}
	})
}

// TestABudgetIsBounded checks that the budget of an org that does not compute is at most `burst`,
// and that the debt after a very large charge is limited.
func TestABudgetIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := unpressed(2, 100)
		rest := func(d time.Duration) {
			for end := time.Now().Add(d); time.Now().Before(end); time.Sleep(lately / 2) {
				computes(s, "other", 0)
			}
		}
		computes(s, "heavy", 0)
		rest(time.Minute)
		computes(s, "heavy", burst+time.Millisecond)
		if computes(s, "heavy", 0) == 0 {
			t.Error("it saved up more than a burst")
		}
		rest(time.Second)
		s.Visit("heavy").Charge(time.Hour)
		defer beside(s)()
		if waited := computes(s, "heavy", 0); waited < most/4 || waited > most {
			t.Errorf("for the largest debt it waited %v", waited)
		}
	})
}

// TestWaitsAreNotCharged checks that an org is not charged for time in which its visit has no
// place, and that it is charged for the costs passed to Charge.
func TestWaitsAreNotCharged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := unpressed(2, 1)
		defer beside(s)()
		v := s.Visit("busy")
		must(t, v.Admit(t.Context()))
		time.Sleep(10 * time.Second) // a slow request body
		must(t, v.Return(t.Context()))
		again := Wait(With(t.Context(), v))
		time.Sleep(10 * time.Second)
		again()
		v.Leave()
		if waited := computes(s, "busy", 0); waited > 0 {
			t.Errorf("the next visit waited %v", waited)
		}
		Charge(With(t.Context(), v), burst)
		if computes(s, "busy", 0) == 0 {
			t.Error("what others compute for it is not charged")
		}
	})
}

// TestAnAbandonedVisitIsOver checks that a visit loses its place (the permission to compute) after
// the time Share.Longest even if Leave is never called.
func TestAnAbandonedVisitIsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := crowd()
		must(t, s.Visit("busy").Enter(t.Context()))
		time.Sleep(time.Minute)
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.busy != 0 {
			t.Errorf("%d orgs are busy", s.busy)
		}
		if a := s.accounts["busy"]; a != nil && a.held > 0 {
			t.Errorf("it holds %d places", a.held)
		}
	})
}

// TestIdleOrgsAreForgotten checks that the account of an org is deleted when the org is no longer
// active and its budget is full.
func TestIdleOrgsAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := unpressed(2, 50)
		for i := range 1000 {
			computes(s, fmt.Sprint(i), 0)
		}
		s.Visit("indebted").Charge(time.Hour)
		time.Sleep(lately)
		computes(s, "new", 0)
		if len(s.accounts) != 2 || s.accounts["indebted"] == nil {
			t.Errorf("%d orgs are known", len(s.accounts))
		}
		time.Sleep(10 * most)
		computes(s, "new", 0)
		if len(s.accounts) != 1 {
			t.Errorf("%d orgs are known in the end", len(s.accounts))
		}
	})
}

// TestWaitingRequestsOfAnOrgAreBounded checks that a request is refused if Share.Queue requests of
// its org wait for a place. A request of another org gets a place at once. Compute never fails for
// this reason: it waits for a place, because its request has already had one.
func TestWaitingRequestsOfAnOrgAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := crowd()
		s.Queue = 3
		first, _ := enter(t.Context(), s, "busy")
		for range 3 {
			v, _ := enter(t.Context(), s, "busy")
			defer v.Leave()
		}
		err := s.Visit("busy").Enter(t.Context())
		if !perdure.IsCode(err, perdure.RateLimited) || s.Waiting() != 3 {
			t.Errorf("a request too many ends with %v, and %d wait", err, s.Waiting())
		}
		must(t, s.Visit("other").Enter(t.Context()))
		part := make(chan struct{})
		go func() {
			defer close(part)
			done := Compute(With(t.Context(), s.Visit("busy")))
			done()
		}()
		synctest.Wait()
		if s.Waiting() != 4 {
			t.Error("a part of a request does not wait")
		}
		first.Leave()
		<-part
	})
}

// TestRandomVisits checks that random requests of random orgs compute at most for the time that the
// processors and the budgets allow. After the requests have ended, their orgs' accounts are deleted
// at the next request of another org.
func TestRandomVisits(t *testing.T) {
	for seed := range uint64(20) {
		synctest.Test(t, func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 0))
			s := unpressed(2+random.IntN(7), 10+random.IntN(91))
			const window = 10 * time.Second
			ctx, cancel := context.WithTimeout(t.Context(), window)
			defer cancel()
			orgs := 1 + random.IntN(6)
			longest := time.Duration(1+random.IntN(50)) * time.Millisecond
			var all sync.WaitGroup
			all.Go(func() { light(ctx, s, "always") })
			var mu sync.Mutex
			used := window / 20
			for i := range orgs * (1 + random.IntN(8)) {
				own := rand.New(rand.NewPCG(seed, uint64(i)+1))
				all.Go(func() {
					for ctx.Err() == nil {
						visits(ctx, s, fmt.Sprint(i%orgs), own, longest, func(d time.Duration) {
							mu.Lock()
							defer mu.Unlock()
							used += d
						})
					}
				})
			}
			all.Wait()
			bound := time.Duration(s.all*float64(window)) + time.Duration(orgs+1)*(burst+time.Duration(s.places+1)*longest)
			// The usage of an org is averaged over a second, so orgs that start at the same time
			// get more at first.
			bound += time.Duration(s.all * float64(lately) * float64(orgs))
			if used > bound {
				t.Errorf("with seed %d, %d orgs computed %v, over %v", seed, orgs, used, bound)
			}
			time.Sleep(time.Minute)
			if computes(s, "last", 0); s.busy != 0 || s.waiting != 0 || len(s.accounts) != 1 {
				t.Errorf("with seed %d, %d busy orgs, %d waiting visits, %d orgs are left", seed, s.busy, s.waiting, len(s.accounts))
			}
		})
	}
}

// visits makes one request of the org. The request computes for a random time of at most `longest`,
// and may then wait, panic or be cancelled. After each computation, the function `computed` is
// called with its duration.
func visits(ctx context.Context, s *Share, org string, random *rand.Rand, longest time.Duration, computed func(time.Duration)) {
	if random.IntN(4) == 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Duration(random.Int64N(int64(20*time.Millisecond))))
		defer cancel()
	}
	defer func() { _ = recover() }()
	v := s.Visit(org)
	defer v.Leave()
	if v.Enter(ctx) != nil {
		return
	}
	work := func() {
		d := time.Duration(random.Int64N(int64(longest)))
		time.Sleep(d)
		computed(d)
	}
	work()
	switch random.IntN(4) {
	case 0:
		panic("it fails")
	case 1:
		again := Wait(With(context.WithoutCancel(ctx), v))
		time.Sleep(time.Duration(random.Int64N(int64(100 * time.Millisecond))))
		again()
		work()
	}
}
