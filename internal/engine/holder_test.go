package engine

import (
	"crypto/sha256"
	"encoding/json"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// holder is a worker that has the claim of one execution.
type holder struct {
	*bench
	claim  perdure.AgentClaim
	id     uuid.UUID
	number int64
}

// try sends the next commit of the claim; the function `edit` sets the content of the commit.
func (h *holder) try(edit func(c *perdure.Commit)) (perdure.CommitReply, error) {
	h.Helper()
	c := perdure.Commit{Lease: h.claim.Lease, Number: h.number + 1}
	edit(&c)
	reply, err := h.d.Commit(h.Context(), c)
	if err == nil {
		h.number = c.Number
	}
	return reply, err
}

func (h *holder) commit(edit func(c *perdure.Commit)) perdure.CommitReply {
	h.Helper()
	reply, err := h.try(edit)
	h.must(err)
	return reply
}

// suspend suspends the execution. If the wait w is met already, so that the execution does not
// suspend, the test fails.
func (h *holder) suspend(w perdure.Wait) {
	h.Helper()
	if reply := h.commit(suspending(w)); !reply.Suspended {
		h.Fatalf("the execution goes on, want it suspended: %+v", reply)
	}
}

func suspending(w perdure.Wait) func(*perdure.Commit) {
	return func(c *perdure.Commit) { c.Outcome = perdure.Outcome{Kind: perdure.OutcomeSuspend, Wait: &w} }
}

func completing(unless ...string) func(*perdure.Commit) {
	return func(c *perdure.Commit) {
		c.Outcome = perdure.Outcome{Kind: perdure.OutcomeComplete, Output: perdure.Inline([]byte(`"done"`)), Unless: unless}
	}
}

// newTask returns a task of the claim's execution. Tasks with different inputs have different keys.
func (h *holder) newTask(input string, edit ...func(*perdure.TaskOptions)) perdure.NewTask {
	h.Helper()
	t := perdure.NewTask{Kind: "work", Input: perdure.Inline([]byte(input)), InputHash: sha256.Sum256([]byte(input))}
	for _, change := range edit {
		change(&t.Options)
	}
	var err error
	if t.Options.Key != "" {
		t.Key = perdure.CallerTaskKey(h.id, t.Kind, t.Options.Key)
	} else if t.Key, err = perdure.DefaultTaskKey(h.id, t.Kind, json.RawMessage(input), t.Options.Instance); err != nil {
		h.Fatal(err)
	}
	return t
}

// schedule schedules tasks, one for each input, and returns their ids.
func (h *holder) schedule(inputs ...string) []uuid.UUID {
	h.Helper()
	var ids []uuid.UUID
	h.commit(func(c *perdure.Commit) {
		for _, input := range inputs {
			t := h.newTask(input)
			c.Tasks, ids = append(c.Tasks, t), append(ids, perdure.TaskID(t.Key))
		}
	})
	return ids
}

func done(c perdure.TaskClaim, result string) perdure.TaskFinish {
	return perdure.TaskFinish{Lease: c.Lease, Result: perdure.Inline([]byte(result))}
}

func failed(c perdure.TaskClaim, permanent bool) perdure.TaskFinish {
	return perdure.TaskFinish{Lease: c.Lease, Error: &perdure.TaskError{Code: "task_failed", Message: "no luck", Permanent: permanent}}
}

func (b *bench) finish(f perdure.TaskFinish) perdure.FinishReply {
	b.Helper()
	f.WorkerID = b.worker
	reply, err := b.d.FinishTask(b.Context(), f)
	b.must(err)
	return reply
}

// message returns a new entry with the message.
func message(parent *uuid.UUID, m perdure.Message) perdure.NewEntry {
	e, err := perdure.NewMessageEntry(m)
	if err != nil {
		panic(err)
	}
	e.ParentID = parent
	return perdure.NewEntry{Entry: e}
}

func user(parent *uuid.UUID, text string) perdure.NewEntry {
	return message(parent, perdure.UserText(text))
}

// calling returns an entry with an assistant's message that calls tools with these call ids.
func calling(parent *uuid.UUID, calls ...string) perdure.NewEntry {
	m := perdure.Message{Role: perdure.RoleAssistant, Content: perdure.Content{Parts: []perdure.Part{perdure.Text("let me see")}}}
	for _, id := range calls {
		m.Parts = append(m.Parts, perdure.Part{Type: perdure.PartToolCall, ID: id, Name: "bash", RawArguments: "{}"})
	}
	return message(parent, m)
}

func answering(parent *uuid.UUID, call string) perdure.NewEntry {
	return message(parent, perdure.Message{Role: perdure.RoleToolResult, Content: perdure.Content{Parts: []perdure.Part{
		{Type: perdure.PartToolResult, ToolCallID: call, Parts: []perdure.Part{perdure.Text("ok")}},
	}}})
}
