package worker

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/agent"
)

// TestEveryKindOfConditionHasAWait checks that each kind of condition becomes a valid wait of the
// same kind, and that the worker can evaluate that wait. No condition has the kind WaitKindTimer,
// which is a point in time, because conditions have durations.
func TestEveryKindOfConditionHasAWait(t *testing.T) {
	task := uuid.New()
	conditions := map[perdure.WaitKind]agent.Condition{
		perdure.WaitKindAny:      agent.OnAny(agent.OnTimer(time.Second)),
		perdure.WaitKindAll:      agent.OnAll(agent.OnTimer(time.Second)),
		perdure.WaitKindSignal:   agent.OnSignal("a"),
		perdure.WaitKindTask:     agent.OnTask(agent.FutureOf(task, "")),
		perdure.WaitKindQuestion: agent.OnQuestion(agent.NewQuestionRef(task)),
		perdure.WaitKindAfter:    agent.OnTimer(time.Second),
	}
	r := &run{signals: []perdure.Signal{{ID: "1", Name: "a"}}}
	r.learn([]*perdure.Task{{ID: task, Status: perdure.TaskCompleted}})
	r.learnQuestions([]*perdure.Question{{ID: task, Status: perdure.QuestionExpired}})
	for _, kind := range perdure.WaitKinds() {
		c, ok := conditions[kind]
		if !ok {
			if kind != perdure.WaitKindTimer {
				t.Errorf("this test has no condition of the kind %s", kind)
			}
			continue
		}
		w, err := waitOf(asking{name: "any", number: 1}, time.Minute, []agent.Condition{c})
		if err != nil || len(w.Any) != 2 || w.Any[0].Kind() != kind || w.Check() != nil {
			t.Errorf("%s becomes %+v (%v, %v)", kind, w, err, w.Check())
			continue
		}
		if met, err := allMet(w.Any[0]).Evaluate(r.meets); !met || err != nil {
			t.Errorf("%s, marked by the store, is met %v (%v)", kind, met, err)
		}
	}
	if _, err := waitOf(asking{}, 0, []agent.Condition{{}}); !perdure.IsCode(err, perdure.Unsupported) {
		t.Errorf("a condition without a kind: %v", err)
	}
}
