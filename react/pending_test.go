package react_test

import (
	"context"
	"encoding/json"
	"iter"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/internal/longtest"
	"github.com/perdure/perdure/react"
)

// pendingState is the part of a checkpoint's state that describes the pending turn.
type pendingState struct {
	Pending *struct {
		Turn      int                 `json:"turn"`
		Try       int                 `json:"try"`
		Model     perdure.ModelConfig `json:"model"`
		EntryID   uuid.UUID           `json:"entryId"`
		ModelTask *uuid.UUID          `json:"modelTask"`
		Calls     []struct {
			ID   string     `json:"id"`
			Task *uuid.UUID `json:"task"`
		} `json:"calls"`
	} `json:"pending"`
}

// awaitTasks waits until the execution waits for the given number of tasks. It returns the
// execution and the pending turn in the state of the execution's newest checkpoint.
func (s *workerPool) awaitTasks(id uuid.UUID, tasks int) (*perdure.Execution, pendingState) {
	s.t.Helper()
	x := s.until(id, func(x *perdure.Execution) bool {
		return x.Status == perdure.StatusWaiting && x.WaitReason == "task" && len(x.Wait.Tasks()) == tasks
	})
	c, err := s.store.Checkpoint(s.t.Context(), id, 0)
	if err != nil {
		s.t.Fatal(err)
	}
	var st pendingState
	if err := json.Unmarshal(c.State, &st); err != nil || st.Pending == nil {
		s.t.Fatalf("the checkpoint holds %s (%v)", c.State, err)
	}
	if c.LeafEntryID == nil || *c.LeafEntryID != *x.Leaf {
		s.t.Errorf("the checkpoint stands at %v, the conversation at %v", c.LeafEntryID, x.Leaf)
	}
	return x, st
}

func (s *workerPool) task(execution, id uuid.UUID) *perdure.Task {
	s.t.Helper()
	tasks, err := s.store.Tasks(s.t.Context(), execution, []uuid.UUID{id}, false)
	if err != nil || tasks[0] == nil {
		s.t.Fatalf("task %s: %v", id, err)
	}
	return tasks[0]
}

// TestPendingModelCallIsAskedOnce checks that the commit that schedules a model call also stores
// the call as pending. A worker that takes over the execution must not schedule a second call, even
// if it would choose another model.
func TestPendingModelCallIsAskedOnce(t *testing.T) {
	s := emptyWorkerPool(t, "turn\n  text Hello.\n")
	s.play("other", "turn\n  text I was not asked.\n")
	stop := s.work(100, func(c *workerSetup) { c.noTasks = true })
	id := s.start(engine.StartRequest{UserPrompt: "hi", OneShot: true, Models: []perdure.ModelConfig{
		{Provider: "scripted", ModelID: "s"}, {Provider: "scripted", ModelID: "other"},
	}})
	x, st := s.awaitTasks(id, 1)
	p := st.Pending
	if p.ModelTask == nil || *p.ModelTask != x.Wait.Tasks()[0] || p.Model.ModelID != "s" {
		t.Fatalf("pending is %+v, the wait %+v", p, x.Wait)
	}
	// The task's input contains the id of the leaf, but not the conversation.
	task := s.task(id, *p.ModelTask)
	var input struct {
		LeafEntryID uuid.UUID `json:"leafEntryId"`
	}
	if err := json.Unmarshal(task.Input, &input); err != nil || input.LeafEntryID != *x.Leaf {
		t.Errorf("the input is %s, the leaf %s (%v)", task.Input, x.Leaf, err)
	}
	if key, err := perdure.DefaultTaskKey(id, react.ModelTask, task.Input, "0.0"); err != nil || key != task.Key {
		t.Errorf("the key is %s, want %s by turn and try (%v)", task.Key, key, err)
	}
	stop()
	s.work(100, func(c *workerSetup) {
		c.Select = func(turn react.Turn) perdure.ModelConfig { return turn.Models[1] }
	})
	s.completed(id)
	if got := s.conversation(id); !slices.Equal(got, []string{"user: hi", "assistant: Hello."}) || s.calls() != 1 {
		t.Errorf("%d calls gave %q", s.calls(), got)
	}
}

// TestTryingAgainIsAnotherTask checks that a retry of a failed turn is a new task. The task key
// contains the number of the try.
func TestTryingAgainIsAnotherTask(t *testing.T) {
	s := newWorkerPool(t, -1, "turn\n  fail auth the key is wrong\n")
	id := s.start(engine.StartRequest{UserPrompt: "hi"})
	x := s.idle(id, 0)
	if _, err := s.engine.Signal(t.Context(), "default", id, engine.SignalRequest{Name: "retry"}); err != nil {
		t.Fatal(err)
	}
	s.idle(id, x.CheckpointSeq)
	tasks, err := s.store.ListTasks(t.Context(), id, false, "", 10)
	if err != nil || len(tasks.Items) != 2 {
		t.Fatalf("%d tasks, %v", len(tasks.Items), err)
	}
	for try, task := range tasks.Items {
		instance := []string{"0.0", "0.1"}[try]
		if key, err := perdure.DefaultTaskKey(id, react.ModelTask, task.Input, instance); err != nil || key != task.Key {
			t.Errorf("try %d has the key %s, want that of %s (%v)", try, task.Key, instance, err)
		}
	}
}

// TestPendingToolCallsAreInTheCheckpoint checks that the commit that schedules tool calls stores
// their tasks in the checkpoint. The key of each task is derived from the id of the call.
func TestPendingToolCallsAreInTheCheckpoint(t *testing.T) {
	s := newWorkerPool(t, -1, `
turn
  call bash {"command": "echo ready; while [ ! -e go ]; do sleep 0.01; done"}
  call bash {"command": "while [ ! -e go ]; do sleep 0.01; done"}
turn
  text Done.
`)
	id := s.start(engine.StartRequest{UserPrompt: "go", OneShot: true})
	s.sees(id, "ready")
	x, st := s.awaitTasks(id, 2)
	if st.Pending.EntryID != *x.Leaf || len(st.Pending.Calls) != 2 {
		t.Fatalf("pending is %+v", st.Pending)
	}
	for i, c := range st.Pending.Calls {
		if c.Task == nil || !slices.Contains(x.Wait.Tasks(), *c.Task) {
			t.Fatalf("call %d is task %v, the wait %v", i, c.Task, x.Wait.Tasks())
		}
		if task := s.task(id, *c.Task); task.Key != perdure.CallerTaskKey(id, "bash", c.ID) {
			t.Errorf("call %d has the key %s, which is not that of %s", i, task.Key, c.ID)
		}
	}
	s.touch("go")
	s.completed(id)
}

// readCounter is a dispatch that counts reads of paths.
type readCounter struct {
	perdure.Dispatch
	reads atomic.Int32
}

func (c *readCounter) Entries(ctx context.Context, q perdure.EntryQuery) iter.Seq2[perdure.Entry, error] {
	c.reads.Add(1)
	return c.Dispatch.Entries(ctx, q)
}

// TestTurnsDoNotCarryTheConversation checks that task inputs and checkpoint states stay small while
// the conversation grows, and that the agent's worker reads no path.
func TestTurnsDoNotCarryTheConversation(t *testing.T) {
	longtest.Skip(t, "seconds")
	var script strings.Builder
	const turns = 6
	for range turns {
		script.WriteString("turn\n  call bash {\"command\": \"head -c 25000 /dev/zero | tr '\\\\0' x\"}\n")
	}
	script.WriteString("turn\n  text Done.\n")
	s := emptyWorkerPool(t, script.String())
	c := &readCounter{}
	s.work(-1, func(w *workerSetup) {
		w.noTasks, w.over = true, func(d perdure.Dispatch) perdure.Dispatch { c.Dispatch = d; return c }
	})
	s.work(-1, func(w *workerSetup) { w.noAgent = true })
	id := s.start(engine.StartRequest{UserPrompt: "go", OneShot: true})
	s.completed(id)
	tasks, err := s.store.ListTasks(t.Context(), id, false, "", 100)
	if err != nil || len(tasks.Items) != 2*turns+1 {
		t.Fatalf("%d tasks, %v", len(tasks.Items), err)
	}
	for _, task := range tasks.Items {
		if len(s.task(id, task.ID).Input) > 512 {
			t.Errorf("the input of a %s has %d bytes", task.Kind, len(task.Input))
		}
	}
	last := s.until(id, func(*perdure.Execution) bool { return true }).CheckpointSeq
	for seq := range last {
		checkpoint, err := s.store.Checkpoint(t.Context(), id, seq+1)
		if err != nil || len(checkpoint.State) > 1024 {
			t.Errorf("checkpoint %d has %d bytes (%v)", seq+1, len(checkpoint.State), err)
		}
	}
	raw, err := os.ReadFile(s.journal)
	if err != nil || strings.Count(string(raw), "\n") != turns+1 {
		t.Errorf("the model calls are\n%s (%v)", raw, err)
	}
	if n := c.reads.Load(); n != 0 {
		t.Errorf("the agent read the path %d times", n)
	}
}
