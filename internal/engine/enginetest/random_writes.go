package enginetest

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/engine"
	"pgregory.net/rapid"
)

// commit sends a random commit: mostly the next one of a valid claim, but sometimes a commit of an
// ended claim, or with a wrong number or claim id.
func (m *machine) commit(t *rapid.T) {
	l := m.claim(t)
	x := m.of(l.ExecutionID)
	c := perdure.Commit{Lease: l, Number: 1}
	if x.last.Fence == l.Fence {
		c.Number = x.last.Number + 1
	}
	if sometimes(t, "wrong number", 30) {
		c.Number += int64(one(t, "by", []int{-1, 1}))
	}
	if sometimes(t, "forged claim", 30) {
		c.Lease.ClaimID = uuid.UUID{3} // as if a failover of the store had led to the same fence twice
	}
	m.fill(t, x, &c)
	m.commits = append(m.commits, c)
	m.send(c)
}

// commitAgain repeats a commit.
func (m *machine) commitAgain(t *rapid.T) { m.send(recent(t, "commit", m.commits)) }

func (m *machine) send(c perdure.Commit) {
	m.Helper()
	x := m.of(c.Lease.ExecutionID)
	before := x.last
	want, refused := x.commit(c, m.now())
	reply, err := m.d.Commit(m.ctx, c)
	m.code(err, refused)
	if refused != "" {
		return
	}
	if reply.Ended != want.ended || reply.Suspended != want.suspended || reply.CheckpointSeq != want.checkpoint {
		m.Fatalf("the answer is %+v, the rules say %+v", reply, want)
	}
	if x.last == before { // a repeated commit returns only claims that are still valid
		want.eager = 0
		for _, l := range x.eager {
			if x.tasks[l.TaskID].heldBy(l) {
				want.eager++
			}
		}
	}
	if len(reply.Claims) != want.eager || fmt.Sprint(reply.Adopted) != fmt.Sprint(want.adopted) {
		m.Fatalf("the answer has %d claims and adopts %v, the rules say %d and %v", len(reply.Claims), reply.Adopted, want.eager, want.adopted)
	}
	if x.last == before {
		return // the claims are in the model already
	}
	x.eager = nil
	for _, claim := range reply.Claims {
		x.eager = append(x.eager, claim.Lease)
		task := x.tasks[claim.Lease.TaskID]
		if !task.status.Terminal() || claim.Lease.Attempt != 1 { // the commit may have ended the task
			task.claim = claim.Lease.ClaimID
		}
		x.tasks[claim.Lease.TaskID] = task
		m.attempts = append(m.attempts, claim.Lease)
	}
}

// fill adds random contents to a commit.
func (m *machine) fill(t *rapid.T, x *execution, c *perdure.Commit) {
	m.entries(t, x, c)
	m.tasks(t, x, c)
	m.questions(t, x, c)
	for id := range x.names {
		if sometimes(t, "take", 3) {
			c.Take = append(c.Take, id)
		}
	}
	if sometimes(t, "take what is not there", 60) {
		c.Take = append(c.Take, "ghost")
	}
	if sometimes(t, "checkpoint", 4) {
		c.Checkpoint = &perdure.NewCheckpoint{State: perdure.Inline([]byte(`1`))}
	}
	if sometimes(t, "step", 6) {
		name := one(t, "name", []string{"s1", "s2"})
		c.Steps = append(c.Steps, perdure.StepRecord{Name: name, Key: perdure.StepKey(x.id, name, ""), Result: perdure.Inline([]byte(`2`))})
	}
	c.Outcome = m.outcome(t, x, *c)
}

// entries adds random messages to a commit, each with the previous message as its parent. Some have a
// wrong parent.
func (m *machine) entries(t *rapid.T, x *execution, c *perdure.Commit) {
	parent, open := x.leaf, x.entries[x.leaf].open
	for range below(t, "entries", 3) {
		message := perdure.UserText("hello")
		kind := one(t, "entry", []string{"user", "assistant", "calls"})
		if len(open) > 0 && !sometimes(t, "leave the call open", 8) {
			kind = "result"
		}
		switch kind {
		case "assistant", "calls":
			message = perdure.Message{Role: perdure.RoleAssistant, Content: perdure.Content{Parts: []perdure.Part{perdure.Text("well")}}}
		case "result":
			message = perdure.Message{Role: perdure.RoleToolResult, Content: perdure.Content{Parts: []perdure.Part{
				{Type: perdure.PartToolResult, ToolCallID: open[len(open)-1], Parts: []perdure.Part{perdure.Text("ok")}},
			}}}
		}
		if kind == "calls" {
			for i := range 1 + below(t, "calls", 2) {
				message.Parts = append(message.Parts, perdure.Part{Type: perdure.PartToolCall, ID: fmt.Sprint("call", i), Name: "bash", RawArguments: "{}"})
			}
		}
		e, err := perdure.NewMessageEntry(message)
		m.must(err)
		if above := parent; above != uuid.Nil {
			e.ParentID = &above
		}
		if sometimes(t, "out of place", 50) {
			e.ParentID = one(t, "parent", []*uuid.UUID{nil, {1}})
		}
		e.Key = one(t, "key", []string{"", "", "k0", "k1", "k2"})
		c.Entries = append(c.Entries, perdure.NewEntry{Entry: e})
		parent, open = e.ID, e.Calls
	}
}

func (m *machine) tasks(t *rapid.T, x *execution, c *perdure.Commit) {
	for range below(t, "tasks", 3) {
		c.Tasks = append(c.Tasks, m.newTask(t, x))
	}
	if sometimes(t, "eager", 2) {
		c.Offer = perdure.TaskOffer{WorkerID: m.workers[0], Kinds: []string{"work"}, Queues: []string{"default"}, Slots: 1, Features: perdure.AllFeatures}
	}
	if id, ok := m.someTask(t, x, *c); ok && sometimes(t, "cancel a task", 8) {
		c.CancelTask = append(c.CancelTask, id)
	}
	if sometimes(t, "cancel what is not there", 60) {
		c.CancelTask = append(c.CancelTask, uuid.UUID{2})
	}
}

func (m *machine) newTask(t *rapid.T, x *execution) perdure.NewTask {
	input := fmt.Sprint(1 + below(t, "input", 4))
	n := perdure.NewTask{
		Kind: one(t, "kind", []string{"work", "play"}), Input: perdure.Inline([]byte(input)),
		InputHash: sha256.Sum256([]byte(input)),
	}
	if sometimes(t, "report", 3) {
		n.Options.OnLost = perdure.OnLostReport
	}
	if sometimes(t, "deadline", 4) {
		n.Options.ScheduleToClose = 80 * time.Second
	}
	priority := one(t, "priority", []int{1, 5, 9})
	n.Options.Priority, n.Options.MaxAttempts = &priority, 1+below(t, "attempts", 3)
	var err error
	if sometimes(t, "a key of its own", 3) {
		n.Options.Key = "mine"
		n.Key = perdure.CallerTaskKey(x.id, n.Kind, n.Options.Key)
	} else if n.Key, err = perdure.DefaultTaskKey(x.id, n.Kind, json.RawMessage(input), ""); err != nil {
		m.Fatal(err)
	}
	return n
}

// someTask draws the id of a task that the execution already has or that the commit schedules.
func (m *machine) someTask(t *rapid.T, x *execution, c perdure.Commit) (uuid.UUID, bool) {
	var all []uuid.UUID
	for _, n := range c.Tasks {
		all = append(all, perdure.TaskID(n.Key))
	}
	for _, l := range m.attempts {
		if l.ExecutionID == x.id {
			all = append(all, l.TaskID)
		}
	}
	if len(all) == 0 {
		return uuid.Nil, false
	}
	return one(t, "task", all), true
}

func (m *machine) outcome(t *rapid.T, x *execution, c perdure.Commit) perdure.Outcome {
	switch n := below(t, "outcome", 40); {
	case n < 20:
		return perdure.Outcome{}
	case n < 34:
		w := m.wait(t, x, c, 2)
		return perdure.Outcome{Kind: perdure.OutcomeSuspend, Wait: &w}
	case n < 38:
		return perdure.Outcome{
			Kind: perdure.OutcomeComplete, Output: perdure.Inline([]byte(`"done"`)),
			Unless: one(t, "unless", [][]string{nil, {"a"}, {"b.*", "a"}}),
		}
	case n < 39:
		return perdure.Outcome{Kind: perdure.OutcomeFail}
	}
	return perdure.Outcome{Kind: perdure.OutcomeCancelled}
}

func (m *machine) wait(t *rapid.T, x *execution, c perdure.Commit, depth int) perdure.Wait {
	kind := below(t, "wait", 5)
	if sometimes(t, "wait for what is not there", 60) {
		return perdure.WaitTask(uuid.UUID{4})
	}
	if id, ok := m.someTask(t, x, c); ok && kind == 0 {
		return perdure.WaitTaskOn(id, one(t, "on", []perdure.TaskCondition{"", perdure.TaskSucceeded, perdure.TaskDidFail}))
	}
	if id, ok := m.someQuestion(t, x, c); ok && sometimes(t, "wait for a question", 4) {
		return perdure.WaitQuestion(id)
	}
	if depth == 0 || kind == 1 || kind == 0 {
		return perdure.WaitSignal(one(t, "pattern", []string{"a", "b.*", "**"}))
	}
	if kind == 2 {
		return perdure.WaitUntil(perdure.At(m.now()).Add(time.Duration(below(t, "seconds", 21)) * time.Second))
	}
	waits := make([]perdure.Wait, 1+below(t, "waits", 3))
	for i := range waits {
		waits[i] = m.wait(t, x, c, depth-1)
	}
	if kind == 3 {
		return perdure.WaitAny(waits...)
	}
	return perdure.WaitAll(waits...)
}

func (m *machine) signal(t *rapid.T) {
	x := one(t, "execution", m.xs)
	r := engine.SignalRequest{
		Name: one(t, "name", []string{"a", "b.c", "b.d", "c"}),
		ID:   fmt.Sprint("s", below(t, "signal", 10)),
	}
	refused := x.signal(r.ID, r.Name, m.now())
	reply, err := m.e.Signal(m.ctx, org, x.id, r)
	m.code(err, refused)
	if err == nil && (reply.SignalID != r.ID || reply.Status != x.status) {
		m.Fatalf("the answer is %+v, the rules say %s", reply, x.status)
	}
}
