package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/engine/bulk"
	"github.com/perdure/perdure/internal/longtest"
	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/internal/store/storetest"
)

func (b *bench) bulk(r bulk.Request) *perdure.BulkAction {
	b.Helper()
	a, err := b.e.Bulk.Start(b.Context(), org, r)
	b.must(err)
	return a
}

// wantBulk checks that a bulk action is completed and has the given counts. It returns the action.
func (b *bench) wantBulk(id uuid.UUID, done, skipped, failed int) *perdure.BulkAction {
	b.Helper()
	a, err := b.s.BulkAction(b.Context(), org, id)
	b.must(err)
	if a.Status != perdure.BulkCompleted || a.EndedAt == nil || a.Done != done || a.Skipped != skipped || a.Failed != failed {
		b.Fatalf("the bulk action: %+v; want %d done, %d skipped, %d failed", a, done, skipped, failed)
	}
	return a
}

// waitingFor starts an execution that waits for signals with the given names.
func (b *bench) waitingFor(signals ...string) uuid.UUID {
	b.Helper()
	h := b.started()
	var any []perdure.Wait
	for _, s := range signals {
		any = append(any, perdure.WaitSignal(s))
	}
	h.suspend(perdure.WaitAny(any...))
	return h.id
}

// TestBulkCancel checks that a bulk action cancels exactly the executions that match its filter at
// two times: when the action is created, and when the action handles the execution.
func TestBulkCancel(t *testing.T) {
	b := newBench(t)
	waits, runs, ended := b.waitingFor("go"), b.started(), b.started()
	ended.commit(completing())
	pending, gone := b.start(), b.start()
	_, err := b.e.Dispatch("other", false).Register(t.Context(), perdure.Registration{WorkerID: uuid.New(), Agents: []perdure.KindSpec{{Kind: "agent"}}})
	b.must(err)
	other, err := b.e.Start(t.Context(), "other", StartRequest{Kind: "agent"})
	b.must(err)
	a := b.bulk(bulk.Request{Action: perdure.BulkCancel, Reason: "wrong prompt"})
	if a.Status != perdure.BulkRunning || a.Matched != 4 || a.EndedAt != nil || a.Reason != "wrong prompt" {
		t.Errorf("the new action: %+v", a)
	}
	b.cancel(gone)
	later := b.start()
	b.must(b.e.Bulk.Sweep(t.Context()))
	b.wantBulk(a.ID, 3, 1, 0)
	b.wantStatus(waits, perdure.StatusCancelled)
	b.wantStatus(runs.id, perdure.StatusCancelling)
	b.wantStatus(pending, perdure.StatusCancelled)
	b.wantStatus(ended.id, perdure.StatusCompleted)
	b.wantStatus(later, perdure.StatusPending)
	if x, err := b.s.Execution(t.Context(), "other", other.ID); err != nil || x.Status != perdure.StatusPending {
		t.Errorf("the execution of another org: %+v, %v", x, err)
	}
}

// TestBulkRetry checks that a bulk action sends one retry signal to each execution that waits for
// such a signal.
func TestBulkRetry(t *testing.T) {
	b := newBench(t)
	failed, idle, message := b.waitingFor("retry", "userMessage"), b.waitingFor("userMessage"), b.waitingFor("retry", "userMessage")
	a := b.bulk(bulk.Request{Action: perdure.BulkRetry})
	b.signal(message, perdure.UserMessage, "m") // the execution continues before the action handles it
	b.must(b.e.Bulk.Sweep(t.Context()))
	b.must(b.e.Bulk.Sweep(t.Context()))
	b.wantBulk(a.ID, 1, 1, 0)
	b.wantStatus(failed, perdure.StatusPending)
	b.wantStatus(idle, perdure.StatusWaiting)
	if n := b.count(failed, perdure.EventSignal); n != 1 {
		t.Errorf("%d signals were sent", n)
	}
	if n := b.count(message, perdure.EventSignal); n != 1 {
		t.Errorf("the execution that went on has %d signals", n)
	}
}

// TestBulkFailures checks a command that is refused for some executions. The action counts these
// executions as failed, keeps the first errors, and continues.
func TestBulkFailures(t *testing.T) {
	b := newBench(t)
	b.must(b.registerSignals(b.signalSpec("retry", `{"type":"string"}`)))
	for range perdure.MaxBulkErrors + 5 {
		b.waitingFor("retry")
	}
	a := b.bulk(bulk.Request{Action: perdure.BulkRetry})
	b.must(b.e.Bulk.Sweep(t.Context()))
	a = b.wantBulk(a.ID, 0, 0, perdure.MaxBulkErrors+5)
	if len(a.Errors) != perdure.MaxBulkErrors || a.Errors[0].Code != perdure.InvalidArgument || a.Errors[0].Message == "" || a.Errors[0].ExecutionID == uuid.Nil {
		t.Errorf("the errors: %+v", a.Errors)
	}
}

// TestBulkRefusals checks that a refused request stores nothing.
func TestBulkRefusals(t *testing.T) {
	b := newBench(t)
	b.start()
	done := []perdure.Status{perdure.StatusCompleted}
	for name, r := range map[string]bulk.Request{
		"no action":             {},
		"another action":        {Action: "delete"},
		"cancel what ended":     {Action: perdure.BulkCancel, Filter: perdure.BulkFilter{Status: done}},
		"retry what runs":       {Action: perdure.BulkRetry, Filter: perdure.BulkFilter{Status: []perdure.Status{perdure.StatusRunning}}},
		"a long reason":         {Action: perdure.BulkCancel, Reason: string(make([]byte, perdure.MaxBulkReason+1))},
		"a zero byte":           {Action: perdure.BulkCancel, Reason: "a\x00b"},
		"a key that is no text": {Action: perdure.BulkCancel, IdempotencyKey: "\xff"},
	} {
		if _, err := b.e.Bulk.Start(t.Context(), org, r); !perdure.IsCode(err, perdure.InvalidArgument) {
			t.Errorf("%s: %v", name, err)
		}
	}
	running, err := b.s.RunningBulk(t.Context(), nil, 10)
	b.must(err)
	if len(running) > 0 {
		t.Errorf("an action was stored: %+v", running[0])
	}
	for range perdure.MaxBulkActions {
		b.bulk(bulk.Request{Action: perdure.BulkCancel})
	}
	_, err = b.e.Bulk.Start(t.Context(), org, bulk.Request{Action: perdure.BulkCancel})
	b.wantCode(err, perdure.Conflict)
}

// TestBulkActionOfNothing checks that an action without executions is completed at once.
func TestBulkActionOfNothing(t *testing.T) {
	b := newBench(t)
	a := b.bulk(bulk.Request{Action: perdure.BulkCancel, Filter: perdure.BulkFilter{Kind: "none"}})
	b.wantBulk(a.ID, 0, 0, 0)
}

// TestBulkActionHasALimit checks that an action on too many executions is refused and changes
// nothing, and that Count reports that it has not counted all matching executions.
func TestBulkActionHasALimit(t *testing.T) {
	b := newBench(t)
	b.e.Bulk.Store = manyExecutions{b.s, perdure.MaxBulkExecutions + 1}
	r := bulk.Request{Action: perdure.BulkCancel}
	_, err := b.e.Bulk.Start(t.Context(), org, r)
	b.wantCode(err, perdure.InvalidArgument)
	c, err := b.e.Bulk.Count(t.Context(), org, r)
	b.must(err)
	if c.Matched != perdure.MaxBulkExecutions || !c.More {
		t.Errorf("the count: %+v", c)
	}
	b.e.Bulk.Store = manyExecutions{b.s, perdure.MaxBulkExecutions}
	if c, err = b.e.Bulk.Count(t.Context(), org, r); err != nil || c.Matched != perdure.MaxBulkExecutions || c.More {
		t.Errorf("the count of as many as allowed: %+v, %v", c, err)
	}
	b.e.Bulk.Store = manyExecutions{b.s, -1}
	_, err = b.e.Bulk.Start(t.Context(), org, r)
	b.wantCode(err, perdure.InvalidArgument)
}

// manyExecutions is a store that lists n executions. If n is negative, it lists endless empty
// pages.
type manyExecutions struct {
	store.Store
	n int
}

func (m manyExecutions) Executions(_ context.Context, _ string, f store.ExecutionFilter) (p store.Page[*perdure.Execution], err error) {
	from := 0
	if f.Cursor != "" {
		if _, err := fmt.Sscan(f.Cursor, &from); err != nil {
			return p, err
		}
	}
	for i := from; i < min(from+f.Limit, m.n); i++ {
		p.Items = append(p.Items, &perdure.Execution{ID: uuid.New(), Status: perdure.StatusPending})
	}
	if from += f.Limit; m.n < 0 || from < m.n {
		p.Next = fmt.Sprint(from)
	}
	return p, nil
}

// TestBulkRequestsAreIdempotent checks that a repeat with the same idempotency key returns the
// first action. A different request with the key is refused as long as the key is stored.
func TestBulkRequestsAreIdempotent(t *testing.T) {
	b := newBench(t)
	b.start()
	r := bulk.Request{Action: perdure.BulkCancel, IdempotencyKey: "k"}
	first := b.bulk(r)
	b.start()
	if again := b.bulk(r); again.ID != first.ID || again.Matched != 1 {
		t.Errorf("the repeat: %+v", again)
	}
	r.Reason = "another"
	_, err := b.e.Bulk.Start(t.Context(), org, r)
	b.wantCode(err, perdure.IdempotencyKeyReused)
	b.must(b.e.Bulk.Sweep(t.Context()))
	b.wantBulk(first.ID, 1, 0, 0)
	b.clock.advance(perdure.BulkKeyKept)
	if later := b.bulk(r); later.ID == first.ID {
		t.Errorf("the key is kept after its time: %+v", later)
	}
}

// TestBulkActionSurvivesKills checks a bulk action in which one write fails, its reply is lost, or
// the write is executed twice. Another server continues the action, and each execution is handled
// exactly once.
func TestBulkActionSurvivesKills(t *testing.T) {
	longtest.Skip(t, "seconds")
	for _, action := range []perdure.BulkActionName{perdure.BulkCancel, perdure.BulkRetry} {
		for _, fault := range []storetest.Fault{storetest.FailBefore, storetest.LoseAnswer, storetest.Twice} {
			t.Run(fmt.Sprint(action, fault), func(t *testing.T) { killBulk(t, action, fault) })
		}
	}
}

func killBulk(t *testing.T, action perdure.BulkActionName, fault storetest.Fault) {
	const runs = 2
	for at := 1; at <= runs+1; at++ {
		b := newBench(t)
		var ids []uuid.UUID
		for range runs {
			ids = append(ids, b.waitingFor("retry"))
		}
		count := 0
		plan := func(_ int, c store.Command) storetest.Fault {
			if c.Name != "bulk action" && c.Name != string(perdure.AuditBulkCreated) {
				return storetest.NoFault
			}
			if count++; count == at {
				return fault
			}
			return storetest.NoFault
		}
		b.use(&storetest.Faults{Store: b.s, Plan: plan})
		r := bulk.Request{Action: action, IdempotencyKey: "k"}
		a, err := b.e.Bulk.Start(t.Context(), org, r)
		if err != nil {
			a = b.bulk(r) // the client repeats its request
		}
		for range 3 {
			if err := b.e.Bulk.Sweep(t.Context()); err != nil && !perdure.IsCode(err, perdure.Unavailable) {
				t.Fatal(err)
			}
			b.use(b.s) // another server continues
		}
		b.wantBulk(a.ID, runs, 0, 0)
		for _, id := range ids {
			want := perdure.EventSignal
			if action == perdure.BulkCancel {
				want = perdure.EventCancelled
			}
			if n := b.count(id, want); n != 1 {
				t.Errorf("fault at %d: %d events %s", at, n, want)
			}
		}
		audit, err := b.s.AuditLog(t.Context(), org, "", 10)
		b.must(err)
		n := len(slices.DeleteFunc(audit.Items, func(r perdure.AuditRecord) bool { return r.Action != perdure.AuditBulkCreated }))
		if n != 1 {
			t.Errorf("%d audit records", n)
		}
	}
}

// TestBulkActionsTakeTurns checks that a bulk action that is created while a large one runs does
// not wait for the end of the large one.
func TestBulkActionsTakeTurns(t *testing.T) {
	b := newBench(t)
	for range 120 {
		b.start()
	}
	x, err := b.e.Start(t.Context(), org, StartRequest{Kind: "strict", Input: json.RawMessage(`{"n":1}`)})
	b.must(err)
	large := b.bulk(bulk.Request{Action: perdure.BulkCancel, Filter: perdure.BulkFilter{Kind: "agent"}})
	small := b.bulk(bulk.Request{Action: perdure.BulkCancel, Filter: perdure.BulkFilter{Kind: "strict"}})
	var order []uuid.UUID
	b.use(&storetest.Faults{Store: b.s, Plan: func(_ int, c store.Command) storetest.Fault {
		order = append(order, c.Execution)
		return storetest.NoFault
	}})
	b.must(b.e.Bulk.Sweep(t.Context()))
	b.wantBulk(large.ID, 120, 0, 0)
	b.wantBulk(small.ID, 1, 0, 0)
	if at := slices.Index(order, x.ID); at < 0 || at > 60 {
		t.Errorf("the execution of the small action had the turn %d of %d", at, len(order))
	}
}
