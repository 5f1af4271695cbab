package fair

import (
	"slices"
	"time"
)

// waiter is a request that waits for a place, the permission to compute. The channel is closed when
// the request gets the place.
type waiter chan struct{}

// account is the data of a Share about one org. A visit is the use of the processors by one request
// of the org. The visit needs a place, which is the permission to compute.
type account struct {
	org     string
	asked   time.Time // time of the org's last visit or charge
	users   int       // number of visits that have a place or wait for one
	held    int       // number of places that visits have
	waiting []waiter  // visits that wait for a place, in order
	timed   bool      // a timer is set, which will call serve

	left  time.Duration // the org's budget: the time that its visits may still compute
	since time.Time     // when the field left was computed

	spent time.Duration // time charged to the org since the rate was computed
	usage float64       // average of the seconds charged per second
}

// asks records that the org wants to compute now, so that it counts as active. It returns the org's
// account, which it creates if necessary.
func (s *Share) asks(org string, now time.Time) *account {
	if org != s.last.org {
		s.other = s.last
	}
	s.last = ask{org, now}
	a := s.accounts[org]
	if a == nil {
		a = &account{org: org, left: burst, since: now}
		s.accounts[org] = a
	}
	a.asked = now
	s.compute(now)
	return a
}

// uses changes the number of visits of the account's org that have a place or wait for one.
func (s *Share) uses(a *account, change int) {
	if a.users == 0 {
		s.busy++
	}
	if a.users += change; a.users == 0 {
		s.busy--
	}
}

// active reports whether the org gets a part of the processors. An org is active while it has
// visits, and for a second (`lately`) after its last visit or charge.
func (a *account) active(now time.Time) bool { return a.users > 0 || now.Sub(a.asked) < lately }

// balance returns the org's budget at the time `now`. In each second, the budget grows by `rate`
// seconds, up to the maximum `burst`.
func (a *account) balance(now time.Time, rate float64) time.Duration {
	a.left = min(burst, a.left+time.Duration(rate*float64(now.Sub(a.since))))
	a.since = now
	return a.left
}

// until returns the time after which the org's budget is examined again. It is the time that the
// budget needs to become positive, but at most the interval `look`.
func (a *account) until(rate float64) time.Duration {
	need := time.Duration(float64(1-a.left) / rate)
	return max(time.Millisecond, min(need, look))
}

// charge subtracts a cost from the org's budget if another org is active.
func (s *Share) charge(a *account, cost time.Duration, now time.Time) {
	cost = s.scale.of(cost)
	a.spent += cost
	if s.company(a, now) {
		a.left = max(-most, a.balance(now, s.rate)-cost)
	}
}

// compute computes the rate at which budgets grow, at most once in the interval `look`. It also
// deletes the account of each org that is not active and has a full budget; a new account of the
// org would be equal.
func (s *Share) compute(now time.Time) {
	passed := now.Sub(s.rated)
	if passed < look {
		return
	}
	s.rated = now
	s.scale.look(passed)
	var usages []float64
	for org, a := range s.accounts {
		a.average(passed)
		switch {
		case a.active(now):
			usages = append(usages, a.usage)
		case a.balance(now, s.rate) >= burst:
			delete(s.accounts, org)
		}
	}
	s.adjust(usages)
}

// adjust sets the rate at which each org's budget grows, within two limits. The minimum is an equal
// part of the capacity for each org. The maximum is the result of [level] for the average usages of
// the active orgs. The rate falls quickly while goroutines wait for a processor, and rises slowly
// otherwise.
func (s *Share) adjust(usages []float64) {
	least, most := s.capacity/float64(max(1, len(usages))), level(s.all, usages)
	if s.pressed() {
		s.rate *= slower
	} else {
		s.rate += faster * s.all
	}
	s.rate = max(least, min(s.rate, most))
}

const (
	// slower is the factor by which the growth rate of the budgets falls if goroutines wait for a
	// processor.
	slower = 0.7
	// faster is the increase of the growth rate if no goroutines wait, as a fraction of all
	// processors.
	faster = 1.0 / 40
)

// average updates the org's average usage. The parameter `passed` is the time since the last call.
func (a *account) average(passed time.Duration) {
	a.usage, a.spent = averaged(a.usage, a.spent, passed), 0
}

// level returns a limit for the usage of each org, such that the orgs together do not exceed the
// capacity. The usages of the orgs below the limit are subtracted from the capacity. The limit is
// an equal part of the rest for each of the other orgs.
func level(capacity float64, usages []float64) float64 {
	slices.Sort(usages)
	each := capacity
	for i, usage := range usages {
		each = capacity / float64(len(usages)-i)
		if usage >= each {
			break
		}
		capacity -= usage
	}
	return each
}
