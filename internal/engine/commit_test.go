package engine

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/internal/store/storetest"
)

func TestCommitDeliveredTwiceAnswersTheSame(t *testing.T) {
	b := newBench(t)
	h := b.started()
	c := perdure.Commit{
		Lease: h.claim.Lease, Number: 1, Entries: []perdure.NewEntry{user(nil, "hello")},
		Tasks:      []perdure.NewTask{h.newTask("1"), h.newTask("2"), h.newTask("3")},
		Checkpoint: &perdure.NewCheckpoint{State: perdure.Inline([]byte(`1`))},
		Offer:      perdure.TaskOffer{WorkerID: b.worker, Kinds: []string{"work"}, Queues: []string{"default"}, Slots: 2},
	}
	wait := perdure.WaitTask(perdure.TaskID(c.Tasks[0].Key))
	c.Outcome = perdure.Outcome{Kind: perdure.OutcomeSuspend, Wait: &wait}
	first, err := b.d.Commit(t.Context(), c)
	b.must(err)
	if len(first.Claims) != 2 || !first.Suspended || first.CheckpointSeq != 1 {
		t.Fatalf("the commit answered %+v", first)
	}
	before := b.snapshot(h.id)
	for range 2 {
		again, err := b.d.Commit(t.Context(), c)
		b.must(err)
		if diff := cmp.Diff(first, again, cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("delivered again it answered otherwise (-first +again):\n%s", diff)
		}
	}
	if after := b.snapshot(h.id); after != before {
		t.Errorf("delivered again it wrote:\n%s\n%s", before, after)
	}
	// Another worker continues the execution. When the first worker repeats its commit, the reply
	// still contains the outcome, but only those task claims that are still valid.
	b.finish(done(first.Claims[0], `1`))
	next := b.claim()
	again, err := b.d.Commit(t.Context(), c)
	b.must(err)
	if !again.Suspended || len(again.Claims) != 1 || again.Claims[0].Lease != first.Claims[1].Lease {
		t.Errorf("after the lease it answered %+v", again)
	}
	next.commit(completing())
	_, err = b.d.Commit(t.Context(), c)
	b.wantCode(err, perdure.LeaseLost)
}

func TestCommitNumbersHaveNoGap(t *testing.T) {
	b := newBench(t)
	h := b.started()
	h.commit(func(*perdure.Commit) {})
	h.commit(func(*perdure.Commit) {})
	for _, number := range []int64{0, 1, 4} {
		_, err := h.try(func(c *perdure.Commit) { c.Number = number })
		b.wantCode(err, perdure.InvalidArgument)
	}
	h.commit(func(*perdure.Commit) {})
}

// TestCommitIsAllOrNothing checks that a commit with one invalid part stores nothing of its valid
// parts, and that the commit's number can be used again.
func TestCommitIsAllOrNothing(t *testing.T) {
	missing := uuid.New()
	bad := map[string]struct {
		code perdure.Code
		edit func(h *holder, c *perdure.Commit)
	}{
		"an entry without its parent": {perdure.InvalidArgument, func(h *holder, c *perdure.Commit) {
			c.Entries = append(c.Entries, user(&missing, "lost"))
		}},
		"an entry that breaks the transcript": {perdure.InvalidTranscript, func(h *holder, c *perdure.Commit) {
			c.Entries = append(c.Entries, answering(&c.Entries[0].ID, "nobody asked"))
		}},
		"a signal that is none": {perdure.InvalidArgument, func(h *holder, c *perdure.Commit) { c.Take = append(c.Take, "none") }},
		"a task that is not its": {perdure.NotFound, func(h *holder, c *perdure.Commit) {
			c.CancelTask = []uuid.UUID{missing}
		}},
		"a task of another input under its key": {perdure.IdempotencyKeyReused, func(h *holder, c *perdure.Commit) {
			key := func(o *perdure.TaskOptions) { o.Key = "mine" }
			c.Tasks = append(c.Tasks, h.newTask("1", key), h.newTask("2", key))
		}},
		"a blob that was not uploaded": {perdure.Conflict, func(h *holder, c *perdure.Commit) {
			c.Checkpoint.State = perdure.Payload{Blob: &perdure.BlobRef{ID: missing, Length: 1}}
		}},
		"a block that is not all there": {perdure.Conflict, func(h *holder, c *perdure.Commit) {
			c.Blocks = []perdure.BlockEnd{{Key: perdure.BlockKey{Attempt: h.claim.Lease.Fence}, Length: 7}}
		}},
		"a wait for a task that is none": {perdure.InvalidArgument, func(h *holder, c *perdure.Commit) { suspending(perdure.WaitTask(missing))(c) }},
		"a wait that is none":            {perdure.InvalidArgument, func(h *holder, c *perdure.Commit) { suspending(perdure.Wait{Signal: "a", After: 1})(c) }},
		"a wait of an unknown kind": {perdure.Unsupported, func(h *holder, c *perdure.Commit) {
			suspending(perdure.WaitAny(perdure.WaitSignal("a"), perdure.Wait{}))(c)
		}},
		"an event of the server's": {perdure.InvalidArgument, func(h *holder, c *perdure.Commit) {
			c.Events = append(c.Events, perdure.NewEvent{Type: perdure.EventCompleted})
		}},
		"an outcome that is none": {perdure.InvalidArgument, func(h *holder, c *perdure.Commit) { c.Outcome.Kind = "explode" }},
		"a task without a kind":   {perdure.InvalidArgument, func(h *holder, c *perdure.Commit) { c.Tasks = append(c.Tasks, perdure.NewTask{Key: "k"}) }},
	}
	for name, test := range bad {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			h := b.started()
			b.signal(h.id, "note", "s1")
			before := b.snapshot(h.id)
			_, err := h.try(func(c *perdure.Commit) {
				c.Entries = []perdure.NewEntry{user(nil, "hello")}
				c.Tasks = []perdure.NewTask{h.newTask("0")}
				c.Steps = []perdure.StepRecord{{Name: "s", Key: perdure.StepKey(h.id, "s", "")}}
				c.Take = []string{"s1"}
				c.Checkpoint = &perdure.NewCheckpoint{State: perdure.Inline([]byte(`1`))}
				c.Events = []perdure.NewEvent{{Type: perdure.EventData}}
				test.edit(h, c)
			})
			b.wantCode(err, test.code)
			if after := b.snapshot(h.id); after != before {
				t.Errorf("something was written:\n%s\n%s", before, after)
			}
			// The refused commits did not use up the commit number, and the claim is still valid.
			h.commit(completing())
		})
	}
}

// TestEndCarriesTheLastBatch checks that one commit can both store the last entry and complete the
// execution, and that the event agent.completed is the last one of the log.
func TestEndCarriesTheLastBatch(t *testing.T) {
	b := newBench(t)
	h := b.started()
	last := user(nil, "the last words")
	h.commit(func(c *perdure.Commit) { c.Entries = []perdure.NewEntry{last}; completing()(c) })
	x := b.wantStatus(h.id, perdure.StatusCompleted)
	if x.Leaf == nil || *x.Leaf != last.ID || string(x.Output) != `"done"` {
		t.Errorf("the end stored leaf %v, output %s", x.Leaf, x.Output)
	}
	events := b.events(h.id)
	if got := events[len(events)-1]; got != perdure.EventCompleted {
		t.Errorf("the last event is %s", got)
	}
}

func TestTerminalStatusNeverChanges(t *testing.T) {
	for want, outcome := range map[perdure.Status]perdure.OutcomeKind{
		perdure.StatusCompleted: perdure.OutcomeComplete, perdure.StatusFailed: perdure.OutcomeFail, perdure.StatusCancelled: perdure.OutcomeCancelled,
	} {
		b := newBench(t)
		h := b.started()
		if reply := h.commit(func(c *perdure.Commit) { c.Outcome.Kind = outcome }); reply.Ended != want {
			t.Fatalf("%s answered %q", outcome, reply.Ended)
		}
		before := b.snapshot(h.id)
		_, err := h.try(func(*perdure.Commit) {})
		b.wantCode(err, perdure.LeaseLost)
		_, err = b.e.Signal(t.Context(), org, h.id, SignalRequest{Name: "x"})
		b.wantCode(err, perdure.ExecutionEnded)
		_, changed, err := b.e.Cancel(t.Context(), org, h.id)
		b.must(err)
		b.clock.advance(time.Hour)
		b.sweep()
		if after := b.snapshot(h.id); changed || after != before {
			t.Errorf("%s changed:\n%s\n%s", want, before, after)
		}
	}
}

// TestCommitSurvivesFaults checks that a repeated commit is stored once. There are three cases: the
// first request fails before the transaction, its reply is lost after the transaction, or the
// request is applied twice.
func TestCommitSurvivesFaults(t *testing.T) {
	for name, fault := range map[string]storetest.Fault{
		"before": storetest.FailBefore, "after": storetest.LoseAnswer, "twice": storetest.Twice,
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			h := b.started()
			faults := &storetest.Faults{Store: b.s, Plan: func(n int, _ store.Command) storetest.Fault {
				if n == 1 {
					return fault
				}
				return storetest.NoFault
			}}
			b.use(faults)
			edit := func(c *perdure.Commit) {
				c.Entries = []perdure.NewEntry{{Entry: perdure.Entry{
					ID: h.claim.Lease.ClaimID, Type: perdure.EntryMessage, Role: perdure.RoleUser, Content: []byte(`{"parts":[]}`),
				}}}
				c.Tasks = []perdure.NewTask{h.newTask("1")}
			}
			reply, err := h.try(edit)
			if err != nil {
				b.wantCode(err, perdure.Unavailable)
				reply, err = h.try(edit)
			}
			b.must(err)
			if reply.Ended != "" || reply.Suspended {
				t.Errorf("the commit answered %+v", reply)
			}
			if n := b.count(h.id, perdure.EventEntry); n != 1 {
				t.Errorf("%d entries, want 1", n)
			}
			if n := b.count(h.id, perdure.EventTaskScheduled); n != 1 {
				t.Errorf("%d tasks, want 1", n)
			}
			h.commit(completing())
		})
	}
}

// TestRefusalLeavesNeighboursAlone checks that a command returns the error internal if its rule (a
// function of package rules) panics. The execution then accepts the next commit.
func TestRefusalLeavesNeighboursAlone(t *testing.T) {
	b := newBench(t)
	h := b.started()
	_, err := b.s.Do(t.Context(), store.Command{Name: "broken", Org: org, Execution: h.id, Decide: func(*store.State) (*store.Changes, error) {
		panic("a rule is wrong")
	}})
	var coded *perdure.Error
	if !errors.As(err, &coded) || coded.Code != perdure.Internal {
		t.Errorf("the error is %v", err)
	}
	h.commit(completing())
}

// blind is a store whose reads fail while the field `away` is true.
type blind struct {
	store.Store
	away bool
}

func (s *blind) Tasks(ctx context.Context, execution uuid.UUID, ids []uuid.UUID, lazy bool) ([]*perdure.Task, error) {
	if s.away {
		return nil, perdure.Errorf(perdure.Internal, "planned")
	}
	return s.Store.Tasks(ctx, execution, ids, lazy)
}

// Lazy returns s itself, so that reads of the result also fail.
func (s *blind) Lazy() store.Reader { return s }

func (s *blind) Together(_ context.Context, read func(store.ClaimReader) error) error { return read(s) }

// TestCommandThatIsMadeIsNeverRefused checks that the error is unavailable if a command is stored but
// its reply cannot be read. The worker then repeats the command. With another error, the worker would
// use the commit's number again, for another commit.
func TestCommandThatIsMadeIsNeverRefused(t *testing.T) {
	b := newBench(t)
	h := b.started()
	ids := h.schedule("1")
	c := b.taskClaim()
	store := &blind{Store: b.s}
	b.use(store)
	h.suspend(perdure.WaitTask(ids[0]))
	f := done(c, `"out"`)
	f.Parked = true
	store.away = true
	_, err := b.d.FinishTask(t.Context(), f)
	b.wantCode(err, perdure.Unavailable)
	store.away = false
	reply := b.finish(f)
	if reply.Claim == nil {
		t.Fatal("asked again, the end brings no claim")
	}
	h = &holder{bench: b, claim: *reply.Claim, id: h.id}
	again := func(c *perdure.Commit) { c.Tasks = []perdure.NewTask{h.newTask("1")} }
	store.away = true
	_, err = h.try(again)
	b.wantCode(err, perdure.Unavailable)
	store.away = false
	if reply := h.commit(again); len(reply.Tasks) != 1 {
		t.Errorf("asked again, the commit answers %+v", reply)
	}
}
