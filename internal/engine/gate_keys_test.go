package engine

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// TestTasksWithOneKeyAreJudgedSeparately checks a commit with two tasks that have the same key.
// Only the first task is stored. The policies judge each task by its own input. If the policies
// permit only the second task, the commit is refused. The clearance is what permits a task; it
// names a rule in one case, and an approval in the other.
func TestTasksWithOneKeyAreJudgedSeparately(t *testing.T) {
	const touch = `{"command":"touch a"}`
	for name, c := range map[string]struct{ permitted, other string }{
		"rule":     {`{"command":"ls"}`, `{"command":"rm"}`},
		"question": {touch, `{"command":"curl"}`},
	} {
		b := newBench(t)
		h := b.guarded()
		rule := 0
		clearance := perdure.Clearance{Rule: &rule}
		if name == "question" {
			yes := h.approved("yes", touch, perdure.VerdictApprove)
			clearance = perdure.Clearance{Question: &yes}
		}
		task := func(input string) perdure.NewTask {
			n := h.callOf("k", input, &clearance)
			n.Options.Key = "" // with a key that the caller sets, another input is refused anyway
			return n
		}
		before := b.snapshot(h.id)
		_, err := h.try(func(m *perdure.Commit) { m.Tasks = []perdure.NewTask{task(c.other), task(c.permitted)} })
		b.wantCode(err, perdure.PermissionDenied)
		if after := b.snapshot(h.id); after != before {
			t.Errorf("%s: the refused commit changed something", name)
		}
		h.commit(func(m *perdure.Commit) { m.Tasks = []perdure.NewTask{task(c.permitted), task(c.other)} })
		stored, err := b.s.Tasks(t.Context(), h.id, []uuid.UUID{perdure.TaskID(task(c.permitted).Key)}, false)
		b.must(err)
		if string(stored[0].Input) != c.permitted {
			t.Errorf("%s: stored is %s", name, stored[0].Input)
		}
	}
}

// TestAnApprovalDoesNotPermitARenewedTask checks that an approval permits only one task. After the
// task's key has expired, a new task with that key needs another approval.
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
