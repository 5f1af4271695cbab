package httpapi_test

import (
	"context"
	"encoding/json"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// run is an execution that the worker has claimed.
type run struct {
	h      *house
	id     uuid.UUID
	lease  perdure.Lease
	number int64
	leaf   *uuid.UUID
}

// claim claims the only pending execution.
func (h *house) claim() *run {
	h.t.Helper()
	claims, err := h.worker.PollAgents(h.t.Context(), perdure.Poll{
		WorkerID: h.id, Queues: []string{"default"}, Kinds: []string{perdure.ReactKind, "count", "anything"}, Slots: 1, Wait: time.Second,
	})
	if err != nil || len(claims) != 1 {
		h.t.Fatalf("claimed %d: %v", len(claims), err)
	}
	return &run{h: h, id: claims[0].Lease.ExecutionID, lease: claims[0].Lease, leaf: claims[0].Execution.Leaf}
}

func (r *run) commit(c perdure.Commit) perdure.CommitReply {
	r.h.t.Helper()
	r.number++
	c.Lease, c.Number = r.lease, r.number
	reply, err := r.h.worker.Commit(context.WithoutCancel(r.h.t.Context()), c)
	if err != nil {
		r.h.t.Fatal(err)
	}
	return reply
}

// say appends a message and a checkpoint.
func (r *run) say(m perdure.Message) perdure.Entry {
	r.h.t.Helper()
	e, err := perdure.NewMessageEntry(m)
	if err != nil {
		r.h.t.Fatal(err)
	}
	e.ParentID = r.leaf
	r.leaf = &e.ID
	r.commit(perdure.Commit{
		Entries:    []perdure.NewEntry{{Entry: e}},
		Checkpoint: &perdure.NewCheckpoint{State: perdure.Inline([]byte(`{"n":1}`)), Reason: "turn"},
	})
	return e
}

// stream appends text to the run's block with that number.
func (r *run) stream(block int64, offset int64, typ perdure.EventType, text string) {
	r.h.t.Helper()
	f := perdure.Frame{AgentLease: &r.lease, Block: block, Type: typ, Offset: offset, Text: text}
	if typ == perdure.EventTerminal {
		f.Stream = "stdout"
	}
	r.append(f)
}

func (r *run) complete() {
	r.h.t.Helper()
	r.commit(perdure.Commit{Outcome: perdure.Outcome{Kind: perdure.OutcomeComplete, Output: perdure.Inline([]byte(`{"text":"bye"}`))}})
}

// task schedules and runs a task to its end.
func (r *run) task(kind string, instance string) {
	r.h.t.Helper()
	r.finish(perdure.TaskFinish{Lease: r.schedule(kind, instance), Result: perdure.Inline([]byte(`"ok"`))})
}

// schedule schedules a task and claims it.
func (r *run) schedule(kind, instance string) perdure.TaskLease {
	r.h.t.Helper()
	input := json.RawMessage(`{"a":1}`)
	key, err := perdure.DefaultTaskKey(r.id, kind, input, instance)
	if err != nil {
		r.h.t.Fatal(err)
	}
	reply := r.commit(perdure.Commit{
		Tasks: []perdure.NewTask{{Kind: kind, Input: perdure.Inline(input), Key: key}},
		Eager: perdure.Eager{WorkerID: r.h.id, Kinds: []string{kind}, Queues: []string{"default"}, Slots: 1},
	})
	if len(reply.Claims) != 1 {
		r.h.t.Fatalf("the commit claimed %d tasks", len(reply.Claims))
	}
	return reply.Claims[0].Lease
}

// fail fails an attempt so that it is retried.
func (r *run) fail(lease perdure.TaskLease) {
	r.h.t.Helper()
	r.finish(perdure.TaskFinish{Lease: lease, Error: &perdure.TaskError{Code: perdure.Unavailable, Message: "no answer"}})
}

func (r *run) finish(f perdure.TaskFinish) {
	r.h.t.Helper()
	f.WorkerID = r.h.id
	if _, err := r.h.worker.FinishTask(context.WithoutCancel(r.h.t.Context()), f); err != nil {
		r.h.t.Fatal(err)
	}
}

// frame is a perdure.Frame.
type frame = perdure.Frame

func (r *run) append(frames ...frame) {
	r.h.t.Helper()
	replies, err := r.h.worker.Append(context.WithoutCancel(r.h.t.Context()), frames)
	if err != nil {
		r.h.t.Fatal(err)
	}
	for _, reply := range replies {
		if reply.Err != nil {
			r.h.t.Fatal(reply.Err)
		}
	}
}

func userText(text string) perdure.Message { return perdure.UserText(text) }

func assistantText(text string) perdure.Message {
	return perdure.Message{Role: perdure.RoleAssistant, Content: perdure.Content{Parts: []perdure.Part{perdure.Text(text)}}}
}
