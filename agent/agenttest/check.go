package agenttest

import (
	"fmt"
	"testing"
)

// shown is the number of findings after which a check stops.
const shown = 3

// Run runs the scenario once without disturbance and returns its outcome. The goroutine is parked
// at each wait and continues in place.
func Run(t *testing.T, s Scenario) Outcome {
	t.Helper()
	r := s.run(t, plan{}, 0)
	report(t, r.faults)
	return r.Outcome
}

// Reentered runs the scenario without parked goroutines: after each wait the function is entered
// again from the top. The outcome must equal that of Run.
func Reentered(t *testing.T, s Scenario) Outcome {
	t.Helper()
	o, found := reentered(t, s)
	report(t, found)
	return o
}

// CrashAtEveryCommit runs the scenario twice for each commit and each end of a task's attempt. In
// one run the worker dies just before it is stored. In the other it dies just after it is stored,
// before the reply arrives. Another worker continues, and the outcome must equal that of Run.
func CrashAtEveryCommit(t *testing.T, s Scenario) {
	t.Helper()
	report(t, crashAtEveryCommit(t, s))
}

// DeliverTwice delivers every call that changes data twice, as after a lost reply. One run uses the
// first reply, another run the second. Polls are delivered once: if the reply to a claim is lost,
// the lease expires and another claim follows.
func DeliverTwice(t *testing.T, s Scenario) {
	t.Helper()
	report(t, deliverTwice(t, s))
}

// LoseLeaseAtEveryPoint runs the scenario twice for each call by which a worker writes. Before the
// call arrives, all leases of the worker move to another worker, without its knowledge. In one run
// its call arrives when the other worker has begun, in the other when the run is over. In neither
// may the call have an effect.
func LoseLeaseAtEveryPoint(t *testing.T, s Scenario) {
	t.Helper()
	report(t, loseLeaseAtEveryPoint(t, s))
}

// All runs every check, each as a subtest.
func All(t *testing.T, s Scenario) {
	t.Helper()
	t.Run("Run", func(t *testing.T) { Run(t, s) })
	t.Run("Reentered", func(t *testing.T) { Reentered(t, s) })
	t.Run("CrashAtEveryCommit", func(t *testing.T) { CrashAtEveryCommit(t, s) })
	t.Run("DeliverTwice", func(t *testing.T) { DeliverTwice(t, s) })
	t.Run("LoseLeaseAtEveryPoint", func(t *testing.T) { LoseLeaseAtEveryPoint(t, s) })
}

func report(t *testing.T, found []string) {
	t.Helper()
	for _, f := range found {
		t.Error(f)
	}
}

// undisturbed is the run with which the others are compared.
func undisturbed(t *testing.T, s Scenario) (Outcome, []string) {
	t.Helper()
	r := s.run(t, plan{}, 0)
	var found []string
	for _, f := range r.faults {
		found = append(found, "undisturbed: "+f)
	}
	return r.Outcome, found
}

func reentered(t *testing.T, s Scenario) (Outcome, []string) {
	t.Helper()
	want, found := undisturbed(t, s)
	if len(found) > 0 {
		return want, found
	}
	r := s.run(t, plan{}, -1)
	return r.Outcome, judge(want, r, "The function was entered again from the top after every wait.")
}

func crashAtEveryCommit(t *testing.T, s Scenario) []string {
	t.Helper()
	return atEveryPoint(t, s, false, map[fate]string{
		dieBefore: "The worker died just before %s (write %d) was stored, and another went on.",
		dieAfter:  "The worker died just after %s (write %d) was stored, and another went on.",
	})
}

func loseLeaseAtEveryPoint(t *testing.T, s Scenario) []string {
	t.Helper()
	return atEveryPoint(t, s, true, map[fate]string{
		loseBefore:  "The worker lost its lease to another before %s (write %d), and did not know.",
		loseForGood: "The worker lost its lease to another before %s (write %d), which arrived only after the end.",
	})
}

// atEveryPoint runs the scenario for each write and each of the fates, until a run has no further
// write.
func atEveryPoint(t *testing.T, s Scenario, all bool, fates map[fate]string) []string {
	t.Helper()
	want, found := undisturbed(t, s)
	if len(found) > 0 {
		return found
	}
	for at, more := 1, true; more; at++ {
		more = false
		for f := dieBefore; f <= loseForGood; f++ {
			story, wanted := fates[f]
			if !wanted {
				continue
			}
			r := s.run(t, plan{fate: f, at: at, all: all}, 0)
			more = more || r.met
			if found = append(found, judge(want, r, fmt.Sprintf(story, r.what, at))...); len(found) >= shown {
				return append(found, "There may be more; the rest was not tried.")
			}
		}
	}
	return found
}

func deliverTwice(t *testing.T, s Scenario) []string {
	t.Helper()
	want, found := undisturbed(t, s)
	if len(found) > 0 {
		return found
	}
	first := s.run(t, plan{twice: true, first: true}, 0)
	second := s.run(t, plan{twice: true}, 0)
	return append(judge(want, first, "Every call was delivered twice, and the first answer counted."),
		judge(want, second, "Every call was delivered twice, and the second answer counted.")...)
}

// judge returns the faults of a run, each with its story.
func judge(want Outcome, r result, story string) []string {
	var found []string
	for _, f := range r.faults {
		found = append(found, story+"\n"+f)
	}
	if interrupted(r.Outcome) && !interrupted(want) {
		return found
	}
	if diff := different(want, r.Outcome); diff != "" {
		found = append(found, story+" The outcome is not that of an undisturbed run.\n"+diff)
	}
	return found
}
