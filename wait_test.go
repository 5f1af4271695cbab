package perdure_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"pgregory.net/rapid"
)

// world is a set of facts that a wait is evaluated with.
type world struct {
	now     perdure.Time
	signals map[string]bool
	tasks   map[uuid.UUID]perdure.TaskStatus
	final   map[uuid.UUID]bool // questions whose status is final
}

func (w world) Now() perdure.Time { return w.now }

func (w world) SignalPending(pattern string) bool {
	for name := range w.signals {
		if perdure.MatchName(pattern, name) {
			return true
		}
	}
	return false
}

func (w world) QuestionFinal(id uuid.UUID) bool { return w.final[id] }

func (w world) TaskStatus(id uuid.UUID) perdure.TaskStatus {
	if s, ok := w.tasks[id]; ok {
		return s
	}
	return perdure.TaskPending
}

var (
	epoch   = perdure.AtMilli(1_000_000)
	taskIDs = []uuid.UUID{uuid.MustParse("00000000-0000-4000-8000-000000000001"), uuid.MustParse("00000000-0000-4000-8000-000000000002"), uuid.MustParse("00000000-0000-4000-8000-000000000003")}
	names   = []string{"a", "b.c", "b.d.e"}
)

func drawWait(t *rapid.T, depth int) perdure.Wait {
	switch kind := rapid.IntRange(0, 5).Draw(t, "kind"); {
	case kind == 0:
		return perdure.WaitSignal(rapid.SampledFrom([]string{"a", "b.*", "b.**", "b.c", "x"}).Draw(t, "pattern"))
	case kind == 1:
		on := rapid.SampledFrom([]perdure.TaskCondition{"", perdure.TaskEnded, perdure.TaskSucceeded, perdure.TaskDidFail}).Draw(t, "on")
		return perdure.WaitTaskOn(rapid.SampledFrom(taskIDs).Draw(t, "task"), on)
	case kind == 5:
		return perdure.WaitQuestion(rapid.SampledFrom(taskIDs).Draw(t, "question"))
	case kind == 2 || depth == 0:
		return perdure.WaitUntil(epoch.Add(time.Duration(rapid.IntRange(0, 5).Draw(t, "due")) * time.Second))
	default:
		children := make([]perdure.Wait, rapid.IntRange(1, 3).Draw(t, "children"))
		for i := range children {
			children[i] = drawWait(t, depth-1)
		}
		if kind == 3 {
			return perdure.WaitAny(children...)
		}
		return perdure.WaitAll(children...)
	}
}

// TestMarkingOneFactAtATimeEqualsAllAtOnce checks that a wait that is marked with one fact at a time
// is met exactly if it is met with all facts at once. So the code that stores one fact does not need
// to load the others.
func TestMarkingOneFactAtATimeEqualsAllAtOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		wait := drawWait(t, 3)
		if err := wait.Check(); err != nil {
			t.Fatal(err)
		}
		whole := world{now: epoch, signals: map[string]bool{}, tasks: map[uuid.UUID]perdure.TaskStatus{}, final: map[uuid.UUID]bool{}}
		marked, metStepwise := wait.Mark(whole)
		for range rapid.IntRange(0, 8).Draw(t, "facts") {
			single := world{now: whole.now}
			switch rapid.IntRange(0, 3).Draw(t, "fact") {
			case 0:
				name := rapid.SampledFrom(names).Draw(t, "name")
				whole.signals[name] = true
				single.signals = map[string]bool{name: true}
			case 1:
				id := rapid.SampledFrom(taskIDs).Draw(t, "ended")
				if whole.tasks[id] == "" {
					whole.tasks[id] = rapid.SampledFrom([]perdure.TaskStatus{perdure.TaskCompleted, perdure.TaskFailed, perdure.TaskInterrupted, perdure.TaskCancelled}).Draw(t, "status")
				}
				single.tasks = map[uuid.UUID]perdure.TaskStatus{id: whole.tasks[id]}
			case 2:
				whole.now = whole.now.Add(time.Second)
				single.now = whole.now
			case 3:
				id := rapid.SampledFrom(taskIDs).Draw(t, "decided")
				whole.final[id] = true
				single.final = map[uuid.UUID]bool{id: true}
			}
			marked, metStepwise = marked.Mark(single)
		}
		if _, met := wait.Mark(whole); met != metStepwise {
			t.Fatalf("at once %v, one at a time %v: %+v", met, metStepwise, wait)
		}
		if order := []string{"timer", "signal", "question", "task"}; slices.Index(order, marked.Reason()) > slices.Index(order, wait.Reason()) {
			t.Fatalf("marking changed the reason from %s to %s", wait.Reason(), marked.Reason())
		}
	})
}

func TestWaitCheckNamesWhatIsWrong(t *testing.T) {
	id, now := taskIDs[0], epoch
	for name, w := range map[string]perdure.Wait{
		"two kinds": {Signal: "a", Task: &id},
		"empty any": {Any: []perdure.Wait{}},
		"bad child": {All: []perdure.Wait{{Signal: "*a"}}},
		"no name":   {After: time.Second},
		"negative":  {After: -1, Name: "sleep"},
		"bad name":  {Signal: "a..b"},
		"bad on":    {Task: &id, On: "later"},
		"half a *":  {Signal: "a.b*"},
		"timer+any": {Timer: &now, Any: []perdure.Wait{{Signal: "a"}}},
	} {
		if err := w.Check(); !perdure.IsCode(err, perdure.InvalidArgument) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestWaitReason(t *testing.T) {
	task, signal, timer := perdure.WaitTask(taskIDs[0]), perdure.WaitSignal("a"), perdure.WaitUntil(epoch)
	for want, w := range map[string]perdure.Wait{
		"task":   perdure.WaitAny(timer, perdure.WaitAll(signal, task)),
		"signal": perdure.WaitAny(timer, signal),
		"timer":  timer,
	} {
		if got := w.Reason(); got != want {
			t.Errorf("%+v: %s, not %s", w, got, want)
		}
	}
}

func TestMatchName(t *testing.T) {
	for _, c := range []struct {
		pattern, name string
		want          bool
	}{
		{"a", "a", true},
		{"a", "a.b", false},
		{"*", "a", true},
		{"*", "a.b", false},
		{"**", "a.b.c", true},
		{"a.*", "a.b", true},
		{"a.*", "a", false},
		{"a.**", "a.b.c", true},
		{"a.**", "a", false},
		{"**.c", "a.b.c", true},
		{"**.c", "c", false},
		{"a.*.c", "a.b.c", true},
		{"a.**.c", "a.c", false},
	} {
		if got := perdure.MatchName(c.pattern, c.name); got != c.want {
			t.Errorf("%s on %s: %v", c.pattern, c.name, got)
		}
	}
}

// TestMatchNameIsNeverSlow checks that MatchName is not exponential in the number of **: with 60 of
// them an exponential match would never end. Patterns are matched inside transactions, so a slow match
// would delay all other writes.
func TestMatchNameIsNeverSlow(t *testing.T) {
	pattern := strings.Repeat("**.", 60) + "x"
	name := strings.TrimSuffix(strings.Repeat("a.", 100), ".")
	if perdure.CheckPattern(pattern) != nil || perdure.CheckName(name) != nil {
		t.Fatal("they are not what may be stored")
	}
	if perdure.MatchName(pattern, name) || !perdure.MatchName(pattern, name[:len(name)-1]+"x") {
		t.Error("the match is wrong")
	}
}

// TestReasonsOfWaits checks that Reason returns the kind of wait that people should see first. A task
// that has ended and a question with a decision do not count.
func TestReasonsOfWaits(t *testing.T) {
	task, question, signal := perdure.WaitTask(taskIDs[0]), perdure.WaitQuestion(taskIDs[1]), perdure.WaitSignal("a")
	all := perdure.WaitAll(signal, question, task)
	steps := []struct {
		facts world
		want  string
	}{
		{world{now: epoch}, "task"},
		{world{now: epoch, tasks: map[uuid.UUID]perdure.TaskStatus{taskIDs[0]: perdure.TaskFailed}}, "question"},
		{world{now: epoch, final: map[uuid.UUID]bool{taskIDs[1]: true}}, "signal"},
	}
	for _, step := range steps {
		if all, _ = all.Mark(step.facts); all.Reason() != step.want {
			t.Errorf("the reason is %s, want %s", all.Reason(), step.want)
		}
	}
}
