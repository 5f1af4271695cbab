package react_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/longtest"
	"github.com/perdure/perdure/internal/store/opentest"
)

// TestEveryKillPointLeavesTheSameConversation interrupts a run of many turns at one call between
// worker and server, or at one commit of the store. The run must end with the same conversation as
// an undisturbed run. A model must be called at most once per attempt of the call's task, and a
// tool with effects must run at most once.
//
// The test does this for a random sample of the calls and commits. The environment variable
// PERDURE_KILL_SEED sets the seed of the sample, and PERDURE_KILL_POINTS its size, or "all".
func TestEveryKillPointLeavesTheSameConversation(t *testing.T) {
	longtest.Skip(t, "minutes")
	opentest.Each(t, func(t *testing.T, open opentest.Opener) {
		w := newRunStore(t, open)
		want := w.play(t, killPoint{})
		want.undisturbed(t)
		all := want.points()
		tried := sample(t, all)
		reached := make([]int, shards)
		for shard := range shards {
			t.Run(fmt.Sprint("shard", shard), func(t *testing.T) {
				t.Parallel()
				w := newRunStore(t, open)
				for i := shard; i < len(tried); i += shards {
					t.Run(tried[i].String(), func(t *testing.T) {
						got := w.play(t, tried[i])
						got.compare(t, want)
						if got.reached {
							reached[shard]++
						}
					})
				}
			})
		}
		t.Cleanup(func() {
			total := 0
			for _, n := range reached {
				total += n
			}
			t.Logf("%d kill points of %d; %d were tried and %d of these reached", len(tried), len(all), len(tried), total)
			if !t.Failed() && total < len(tried)*3/4 {
				t.Error("too many of the points are never reached")
			}
		})
	})
}

// shards is the number of runs that are played at the same time, each on its own store. It exceeds
// the usual number of cores, because the runs mostly wait for the disk.
const shards = 12

// interruption is the way in which a call is interrupted.
type interruption string

const (
	before interruption = "before" // the process dies before the call arrives
	lost   interruption = "lost"   // the call is executed and its reply is lost; the process lives
	after  interruption = "after"  // the call is executed, and the process dies
)

// killPoint is the call at which a run is interrupted. In the layer "rpc" it is a call of the
// worker to the server; only the worker may die, and its lease then expires. In the layer "store"
// it is a commit of the server; the server and the worker are one process, and die together.
type killPoint struct {
	layer, name string
	nth         int // number of the call among the calls with this name, from 1
	how         interruption
	parked      int
}

func (p killPoint) String() string {
	return fmt.Sprintf("%s of %s %s %d, %d parked", p.how, p.layer, p.name, p.nth, p.parked)
}

// points returns the points at which a run with these calls and commits can be interrupted.
func (o *outcome) points() []killPoint {
	var all []killPoint
	for layer, calls := range map[string]map[string]int{"rpc": o.calls, "store": o.commits} {
		for name, n := range calls {
			for nth := range n {
				for _, h := range ways(layer, name) {
					all = append(all, killPoint{layer: layer, name: name, nth: nth + 1, how: h, parked: 100 - 101*(nth%2)})
				}
			}
		}
	}
	slices.SortFunc(all, func(a, b killPoint) int {
		return cmp.Or(cmp.Compare(a.layer, b.layer), cmp.Compare(a.name, b.name), cmp.Compare(a.nth, b.nth), cmp.Compare(a.how, b.how))
	})
	return all
}

func ways(layer, name string) []interruption {
	switch {
	case name == "start" || name == "kinds" || name == "register":
		return nil // these calls do not belong to the run
	case layer == "rpc" && (name == "PollAgents" || name == "PollTasks"):
		return []interruption{before, after} // a lost reply would only delay the run until the lease expires
	case layer == "rpc":
		return []interruption{before, lost, after}
	}
	return []interruption{before, after}
}

// sample returns a random selection of the points.
func sample(t *testing.T, all []killPoint) []killPoint {
	t.Helper()
	most := 12
	if strings.HasPrefix(t.Name(), "TestEveryKillPointLeavesTheSameConversation/postgres") {
		most = 4 // a run takes more time on PostgreSQL
	}
	if text := os.Getenv("PERDURE_KILL_POINTS"); text == "all" {
		return all
	} else if text != "" {
		var err error
		if most, err = strconv.Atoi(text); err != nil {
			t.Fatalf("PERDURE_KILL_POINTS: %v", err)
		}
	}
	seed := rand.Uint64()
	if text := os.Getenv("PERDURE_KILL_SEED"); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatalf("PERDURE_KILL_SEED: %v", err)
		}
	}
	t.Logf("PERDURE_KILL_SEED=%d", seed)
	all = slices.Clone(all)
	rand.New(rand.NewPCG(seed, 0)).Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all[:min(most, len(all))]
}

// outcome is the result of a run, with the model calls and tool runs that were counted during it.
type outcome struct {
	killPoint
	reached        bool
	lines          []line
	records        int // number of llm_call entries
	tasks          []*perdure.Task
	starts         map[string]int // number of runs of each tool call, by label
	asked          map[int]int    // number of model calls, by turn
	calls, commits map[string]int
}

// line is an entry of the conversation. In a tool result, the field `label` is the label of its
// call.
type line struct{ text, label string }

// undisturbed checks a run without interruption: each task has one attempt, and there are at least
// 1,000 points at which a run can be interrupted.
func (o *outcome) undisturbed(t *testing.T) {
	t.Helper()
	o.compare(t, o)
	for _, task := range o.tasks {
		if task.Attempt != 1 {
			t.Errorf("%s was tried %d times", task.Kind, task.Attempt)
		}
	}
	if n := len(o.points()); n < 1000 {
		t.Errorf("the run has %d kill points", n)
	}
}

// compare checks that an interrupted run has the same conversation as the undisturbed run `want`,
// except for the results of interrupted tools, and the same number of tasks.
func (o *outcome) compare(t *testing.T, want *outcome) {
	t.Helper()
	bad := func(format string, args ...any) {
		t.Helper()
		t.Errorf("%s: "+format, append([]any{o.killPoint}, args...)...)
	}
	if o.records != turns || len(o.tasks) != len(want.tasks) {
		bad("%d stored model calls and %d tasks, want %d and %d", o.records, len(o.tasks), turns, len(want.tasks))
	}
	interrupted := map[string]bool{}
	for _, task := range o.tasks {
		o.compareTask(bad, task)
		if task.Status == perdure.TaskInterrupted {
			interrupted[labelOf(task)] = true
		}
	}
	if len(o.lines) != len(want.lines) {
		bad("the conversation is\n%v\nwant\n%v", o.lines, want.lines)
		return
	}
	for i, l := range o.lines {
		if l.text != want.lines[i].text && !interrupted[l.label] {
			bad("line %d is %q, want %q", i, l.text, want.lines[i].text)
		}
	}
}

// compareTask checks that a task has no more attempts than the interruption allows, and that it
// runs at most once per attempt. A task with effects must run at most once in all.
func (o *outcome) compareTask(bad func(string, ...any), task *perdure.Task) {
	most := 2
	if o.how == lost && (o.name == "Commit" || o.name == "FinishTask" || o.name == "Append") {
		most = 1 // the worker repeats these calls itself, without another attempt
	}
	if task.Attempt > most {
		bad("%s was tried %d times", task.Kind, task.Attempt)
	}
	if task.Kind == modelTask {
		if n := o.asked[turnOf(task)]; n > task.Attempt || n < 1 {
			bad("the model was asked %d times for turn %d in %d attempts", n, turnOf(task), task.Attempt)
		}
		return
	}
	n := o.starts[labelOf(task)]
	switch {
	case task.Kind != "look" && n > 1:
		bad("%s ran %d times", labelOf(task), n)
	case n > task.Attempt || (n == 0 && task.Status == perdure.TaskCompleted):
		bad("%s ran %d times in %d attempts", labelOf(task), n, task.Attempt)
	case task.Status != perdure.TaskCompleted && (task.Status != perdure.TaskInterrupted || task.Kind == "look" || most == 1):
		bad("%s is %s", labelOf(task), task.Status)
	}
}
