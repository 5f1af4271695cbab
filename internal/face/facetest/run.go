package facetest

import (
	"context"
	"encoding/json"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// Run is an execution that the test has claimed as its worker.
type Run struct {
	Server *Server
	ID     uuid.UUID
	Lease  perdure.Lease
	Number int64
	Leaf   *uuid.UUID
}

// Claim claims the only pending execution.
func (h *Server) Claim() *Run {
	h.T.Helper()
	claims, err := h.Worker.PollAgents(h.T.Context(), perdure.Poll{
		WorkerID: h.ID, Queues: []string{"default"}, Kinds: []string{perdure.ReactKind, "count", "anything"}, Slots: 1, Wait: time.Second,
		Features: perdure.AllFeatures,
	})
	if err != nil || len(claims) != 1 {
		h.T.Fatalf("claimed %d: %v", len(claims), err)
	}
	return &Run{Server: h, ID: claims[0].Lease.ExecutionID, Lease: claims[0].Lease, Leaf: claims[0].Execution.Leaf}
}

// Commit sends a commit of the execution, and fails the test if it is refused.
func (r *Run) Commit(c perdure.Commit) perdure.CommitReply {
	r.Server.T.Helper()
	r.Number++
	c.Lease, c.Number = r.Lease, r.Number
	reply, err := r.Server.Worker.Commit(context.WithoutCancel(r.Server.T.Context()), c)
	if err != nil {
		r.Server.T.Fatal(err)
	}
	return reply
}

// Say commits a message as an entry, together with a checkpoint, and returns the entry.
func (r *Run) Say(m perdure.Message) perdure.Entry {
	r.Server.T.Helper()
	e, err := perdure.NewMessageEntry(m)
	if err != nil {
		r.Server.T.Fatal(err)
	}
	e.ParentID = r.Leaf
	r.Leaf = &e.ID
	r.Commit(perdure.Commit{
		Entries:    []perdure.NewEntry{{Entry: e}},
		Checkpoint: &perdure.NewCheckpoint{State: perdure.Inline([]byte(`{"n":1}`)), Reason: "turn"},
	})
	return e
}

// Compact commits a compaction entry with the summary.
func (r *Run) Compact(c perdure.CompactionRecord, summary string) perdure.Entry {
	r.Server.T.Helper()
	e, err := perdure.NewMessageEntry(perdure.Message{
		Role: perdure.RoleUser, Content: perdure.Content{Parts: []perdure.Part{perdure.Compaction(summary)}},
	})
	if err == nil {
		e.Metadata, err = json.Marshal(c)
	}
	if err != nil {
		r.Server.T.Fatal(err)
	}
	e.Type, e.ParentID = perdure.EntryCompaction, r.Leaf
	r.Leaf = &e.ID
	r.Commit(perdure.Commit{Entries: []perdure.NewEntry{{Entry: e}}})
	return e
}

// Stream appends text at a byte offset of the run's block with the given number.
func (r *Run) Stream(block int64, offset int64, typ perdure.EventType, text string) {
	r.Server.T.Helper()
	f := perdure.Frame{AgentLease: &r.Lease, Block: block, Type: typ, Offset: offset, Text: text}
	if typ == perdure.EventTerminal {
		f.Stream = "stdout"
	}
	r.Append(f)
}

func (r *Run) Complete() {
	r.Server.T.Helper()
	r.Commit(perdure.Commit{Outcome: perdure.Outcome{Kind: perdure.OutcomeComplete, Output: perdure.Inline([]byte(`{"text":"bye"}`))}})
}

// Task schedules a task, claims it and finishes it with the result "ok".
func (r *Run) Task(kind string, instance string) {
	r.Server.T.Helper()
	r.Finish(perdure.TaskFinish{Lease: r.Schedule(kind, instance), Result: perdure.Inline([]byte(`"ok"`))})
}

// Schedule commits a new task, which the worker claims in the reply to the commit, and returns the
// task's lease.
func (r *Run) Schedule(kind, instance string) perdure.TaskLease {
	r.Server.T.Helper()
	input := json.RawMessage(`{"a":1}`)
	key, err := perdure.DefaultTaskKey(r.ID, kind, input, instance)
	if err != nil {
		r.Server.T.Fatal(err)
	}
	reply := r.Commit(perdure.Commit{
		Tasks: []perdure.NewTask{{Kind: kind, Input: perdure.Inline(input), Key: key}},
		Offer: perdure.TaskOffer{WorkerID: r.Server.ID, Kinds: []string{kind}, Queues: []string{"default"}, Slots: 1},
	})
	if len(reply.Claims) != 1 {
		r.Server.T.Fatalf("the commit claimed %d tasks", len(reply.Claims))
	}
	return reply.Claims[0].Lease
}

// Fail ends the current attempt of a task with an error after which the task is retried.
func (r *Run) Fail(lease perdure.TaskLease) {
	r.Server.T.Helper()
	r.Finish(perdure.TaskFinish{Lease: lease, Error: &perdure.TaskError{Code: perdure.Unavailable, Message: "no answer"}})
}

func (r *Run) Finish(f perdure.TaskFinish) {
	r.Server.T.Helper()
	f.WorkerID = r.Server.ID
	if _, err := r.Server.Worker.FinishTask(context.WithoutCancel(r.Server.T.Context()), f); err != nil {
		r.Server.T.Fatal(err)
	}
}

// Frame is one write of a worker to the log: a piece of streamed content, or an event.
type Frame = perdure.Frame

// Append appends frames to the log.
func (r *Run) Append(frames ...Frame) {
	r.Server.T.Helper()
	replies, err := r.Server.Worker.Append(context.WithoutCancel(r.Server.T.Context()), frames)
	if err != nil {
		r.Server.T.Fatal(err)
	}
	for _, reply := range replies {
		if reply.Err != nil {
			r.Server.T.Fatal(reply.Err)
		}
	}
}

// UserText returns a message of the user.
func UserText(text string) perdure.Message { return perdure.UserText(text) }

// AssistantText returns a message of the assistant.
func AssistantText(text string) perdure.Message {
	return perdure.Message{Role: perdure.RoleAssistant, Content: perdure.Content{Parts: []perdure.Part{perdure.Text(text)}}}
}
