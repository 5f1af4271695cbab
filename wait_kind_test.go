package perdure_test

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// waitsOfKinds contains a wait of each kind.
var waitsOfKinds = map[perdure.WaitKind]perdure.Wait{
	perdure.WaitKindAny:      perdure.WaitAny(perdure.WaitSignal("a"), perdure.WaitTask(taskIDs[0])),
	perdure.WaitKindAll:      perdure.WaitAll(perdure.WaitSignal("a"), perdure.WaitTask(taskIDs[0])),
	perdure.WaitKindSignal:   perdure.WaitSignal("a"),
	perdure.WaitKindTask:     perdure.WaitTask(taskIDs[0]),
	perdure.WaitKindQuestion: perdure.WaitQuestion(taskIDs[0]),
	perdure.WaitKindTimer:    perdure.WaitUntil(epoch),
	perdure.WaitKindAfter:    perdure.WaitAfter("sleep", time.Second),
}

// TestEveryKindOfWaitIsHandled checks that the methods of Wait handle each kind. If a method did not
// handle a kind, an execution could wait forever.
func TestEveryKindOfWaitIsHandled(t *testing.T) {
	nothing := world{now: epoch.Add(-time.Hour)}
	everything := world{
		now: epoch.Add(time.Hour), signals: map[string]bool{"a": true},
		tasks: map[uuid.UUID]perdure.TaskStatus{taskIDs[0]: perdure.TaskCompleted},
		final: map[uuid.UUID]bool{taskIDs[0]: true},
	}
	for _, kind := range perdure.WaitKinds() {
		t.Run(kind.String(), func(t *testing.T) {
			w, ok := waitsOfKinds[kind]
			if !ok {
				t.Fatal("this test has no wait of the kind")
			}
			if got := w.Kind(); got != kind {
				t.Errorf("the kind is %s", got)
			}
			if err := w.Check(); err != nil {
				t.Errorf("it is refused: %v", err)
			}
			if reason := w.Reason(); !slices.Contains([]string{"task", "question", "signal", "timer"}, reason) {
				t.Errorf("its reason is %q", reason)
			}
			calls := 0
			if met, err := w.Evaluate(func(perdure.Wait) (bool, error) { calls++; return true, nil }); !met || err != nil || calls == 0 {
				t.Errorf("with all leaves met it is met %v (%v) after %d leaves", met, err, calls)
			}
			stored, _ := w.At(nothing.now, perdure.RecordedWaits{})
			if _, met := stored.Mark(nothing); met {
				t.Error("nothing meets it")
			}
			if _, met := stored.Mark(everything); !met {
				t.Error("nothing that happens meets it: it would never end")
			}
			_, hasTimer := stored.NextTimer()
			if names := len(stored.Signals()) + len(stored.Tasks()) + len(stored.Questions()); names == 0 && !hasTimer {
				t.Error("it names neither a signal nor a task nor a question nor a time, so no producer finds it")
			}
			roundTripsAsJSON(t, w)
		})
	}
}

// roundTripsAsJSON checks that a wait is unchanged after encoding and decoding as JSON, and that
// the JSON has a member with the name of the wait's kind.
func roundTripsAsJSON(t *testing.T, w perdure.Wait) {
	t.Helper()
	raw, err := json.Marshal(w)
	if err != nil {
		t.Fatal(err)
	}
	var back perdure.Wait
	var members map[string]any
	if err := json.Unmarshal(raw, &back); err != nil || !reflect.DeepEqual(back, w) {
		t.Errorf("%s is read as %+v (%v)", raw, back, err)
	}
	if err := json.Unmarshal(raw, &members); err != nil || members[w.Kind().String()] == nil {
		t.Errorf("%s has no member %s", raw, w.Kind())
	}
}

// TestEveryFieldOfAWaitBelongsToAKind checks that each field of Wait either determines a kind, or is
// listed here as a detail.
func TestEveryFieldOfAWaitBelongsToAKind(t *testing.T) {
	details := []string{"on", "name", "met"}
	var kinds []string
	for _, k := range perdure.WaitKinds() {
		kinds = append(kinds, k.String())
	}
	for f := range reflect.TypeFor[perdure.Wait]().Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if !slices.Contains(kinds, name) && !slices.Contains(details, name) {
			t.Errorf("the field %s is no kind of wait; add it to WaitKind", f.Name)
		}
	}
}

// TestUnknownKindsOfWaitAreRefused checks a wait from a newer program. Check refuses it with the
// error code "unsupported" and the place of the node, Evaluate returns the same code, and the node
// is never met. A node with Any that has such a child can be met by another child.
func TestUnknownKindsOfWaitAreRefused(t *testing.T) {
	var newer perdure.Wait
	if err := json.Unmarshal([]byte(`{"omen":"q1"}`), &newer); err != nil {
		t.Fatal(err)
	}
	if kind := newer.Kind(); kind != perdure.WaitKindUnknown {
		t.Fatalf("its kind is %s", kind)
	}
	signal := perdure.WaitSignal("a")
	for at, w := range map[string]perdure.Wait{
		"wait":         newer,
		"wait.any":     perdure.WaitAny(signal, newer),
		"wait.all.any": perdure.WaitAll(signal, perdure.WaitAny(newer)),
	} {
		err := w.Check()
		coded, ok := err.(*perdure.Error)
		if !ok || coded.Code != perdure.Unsupported || len(coded.Fields) != 1 || coded.Fields[0].Location != at {
			t.Errorf("%+v: %v, want unsupported at %s", w, err, at)
		}
		if reason := w.Reason(); reason != "unknown" {
			t.Errorf("%+v: the reason is %s", w, reason)
		}
		if _, met := w.Mark(world{now: epoch}); met {
			t.Errorf("%+v is met", w)
		}
		if _, err := w.Evaluate(func(perdure.Wait) (bool, error) { return w.Kind() == perdure.WaitKindAll, nil }); !perdure.IsCode(err, perdure.Unsupported) {
			t.Errorf("%+v evaluates with %v", w, err)
		}
	}
	if _, met := perdure.WaitAny(newer, signal).Mark(world{now: epoch, signals: map[string]bool{"a": true}}); !met {
		t.Error("a signal does not meet an any that also has an unknown kind")
	}
}
