package agenttest

import (
	"fmt"
	"testing"
)

// shown is the number of findings after which a check stops.
const shown = 3

// Run runs the scenario once without faults and returns its outcome. The agent's goroutine is
// parked at each wait, and continues after it.
func Run(t *testing.T, s Scenario) Outcome {
	t.Helper()
	r := s.run(t, plan{}, 0)
	report(t, r.faults)
	return r.Outcome
}

// RunReentered runs the scenario once without parked goroutines: after each wait, the agent's function is
// entered again from the top. It returns the outcome, which must equal the outcome of Run.
func RunReentered(t *testing.T, s Scenario) Outcome {
	t.Helper()
	o, found := reentered(t, s)
	report(t, found)
	return o
}

// CrashAtEveryCommit runs the scenario twice for each write that is a commit or ends an attempt. In
// the first run, the worker dies just before the write is stored. In the second, it dies just after
// the write is stored, before the reply arrives. Another worker continues, and the outcome must
// equal that of Run.
func CrashAtEveryCommit(t *testing.T, s Scenario) {
	t.Helper()
	report(t, crashAtEveryCommit(t, s))
}

// DeliverTwice runs the scenario twice. Each call that changes data is delivered twice, as if the first
// reply was lost. In one run, the worker receives the first reply, in the other run the second. The
// outcomes must equal that of Run. Polls are delivered once: if the reply to a poll is lost, the lease
// of the claim expires and another claim follows.
func DeliverTwice(t *testing.T, s Scenario) {
	t.Helper()
	report(t, deliverTwice(t, s))
}

// LoseLeaseAtEveryPoint runs the scenario twice for each call with which a worker writes. Before the
// call arrives, the server moves all leases of the worker to another worker, and does not tell the
// first worker. In the first run, the call arrives when the other worker has claimed the work. In the
// second, it arrives after the execution has ended. The server must refuse the call, and the outcome
// must equal that of Run.
func LoseLeaseAtEveryPoint(t *testing.T, s Scenario) {
	t.Helper()
	report(t, loseLeaseAtEveryPoint(t, s))
}

// All runs every check of this package, each as a subtest.
func All(t *testing.T, s Scenario) {
	t.Helper()
	t.Run("Run", func(t *testing.T) { Run(t, s) })
	t.Run("RunReentered", func(t *testing.T) { RunReentered(t, s) })
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

// undisturbed runs the scenario without faults. The checks compare the outcomes of runs with faults
// with the outcome of this run.
func undisturbed(t *testing.T, s Scenario) (result, []string) {
	t.Helper()
	r := s.run(t, plan{}, 0)
	var found []string
	for _, f := range r.faults {
		found = append(found, "undisturbed: "+f)
	}
	return r, found
}

func reentered(t *testing.T, s Scenario) (Outcome, []string) {
	t.Helper()
	want, found := undisturbed(t, s)
	if len(found) > 0 {
		return want.Outcome, found
	}
	r := s.run(t, plan{}, -1)
	return r.Outcome, judge(want.Outcome, r, "The function was entered again from the top after every wait.")
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

// atEveryPoint runs the scenario with each fault in `fates` at the first write, then with each
// fault at the second write, and so on, until a run has no further write. It omits the faults that
// s.omit reports. Without `all`, only commits and ends of attempts count as writes. atEveryPoint
// returns the findings, and stops when there are `shown` of them.
func atEveryPoint(t *testing.T, s Scenario, all bool, fates map[fate]string) []string {
	t.Helper()
	want, found := undisturbed(t, s)
	if len(found) > 0 {
		return found
	}
	writes := want.Commits
	if all {
		writes = want.calls
	}
	for at, more := 1, true; more; at++ {
		more = at < writes
		for f := dieBefore; f <= loseForGood; f++ {
			story, wanted := fates[f]
			if !wanted || at <= writes && s.omit != nil && s.omit(at, f) {
				continue
			}
			r := s.run(t, plan{fate: f, at: at, all: all}, 0)
			more = more || r.met
			if found = append(found, judge(want.Outcome, r, fmt.Sprintf(story, r.what, at))...); len(found) >= shown {
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
	return append(judge(want.Outcome, first, "Every call was delivered twice, and the first answer counted."),
		judge(want.Outcome, second, "Every call was delivered twice, and the second answer counted.")...)
}

// judge returns the findings about the run r: its faults, and how its outcome differs from `want`.
// Each finding begins with the text `story`, which describes the run. An outcome with an
// interrupted task is not compared with `want`.
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
