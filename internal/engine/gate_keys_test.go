package engine

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// Two tasks of a commit with one key are refused, because the verdict about one would count for the
// other. One names a rule, the other an approval.
func TestTasksOfACommitHaveKeysOfTheirOwn(t *testing.T) {
	b := newBench(t)
	h := b.guarded()
	rule := 0
	yes := h.approved("yes", `{"command":"touch a"}`, perdure.VerdictApprove)
	for _, c := range []struct {
		clearance   perdure.Clearance
		first, last string
	}{
		{perdure.Clearance{Rule: &rule}, `{"command":"rm"}`, `{"command":"ls"}`},
		{perdure.Clearance{Question: &yes}, `{"command":"curl"}`, `{"command":"touch a"}`},
	} {
		one, two := h.callOf("k", c.first, &c.clearance), h.callOf("k", c.last, &c.clearance)
		one.Options.Key, two.Options.Key = "", ""
		before := b.snapshot(h.id)
		_, err := h.try(func(m *perdure.Commit) { m.Tasks = []perdure.NewTask{one, two} })
		b.wantCode(err, perdure.InvalidArgument)
		if after := b.snapshot(h.id); after != before {
			t.Error("the refused commit changed something")
		}
	}
}

// An approval permits one task. A task that begins anew under an expired key is another one.
func TestAnApprovalDoesNotPermitARenewedTask(t *testing.T) {
	b := newBench(t)
	h := b.guarded()
	const touch = `{"command":"touch a"}`
	yes := h.approved("yes", touch, perdure.VerdictApprove)
	n := h.callOf("k", touch, &perdure.Clearance{Question: &yes})
	n.Options.KeyTTL = time.Millisecond
	h.commit(func(c *perdure.Commit) { c.Tasks = []perdure.NewTask{n} })
	h.commit(func(c *perdure.Commit) { c.CancelTask = []uuid.UUID{perdure.TaskID(n.Key)} })
	b.clock.advance(time.Hour)
	h.commit(func(c *perdure.Commit) {
		c.Checkpoint = &perdure.NewCheckpoint{State: perdure.Inline([]byte(`1`)), Reason: "x"}
	})
	_, err := h.try(func(c *perdure.Commit) { c.Tasks = []perdure.NewTask{n} })
	b.wantCode(err, perdure.PermissionDenied)
}
