package engine

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure"
)

// compactionEnds returns the errors in the events about failed compactions.
func (b *bench) compactionEnds(h *holder) (all []string) {
	b.Helper()
	for _, r := range b.log(h.id) {
		var e struct {
			Data struct{ Type, State, Reason, Error string }
		}
		if r.Type != perdure.EventData {
			continue
		}
		b.must(json.Unmarshal(r.Fields, &e))
		if e.Data.Type == "compaction" && e.Data.State == "failed" && e.Data.Reason == "manual" {
			all = append(all, e.Data.Error)
		}
	}
	return all
}

// TestACompactionEndsWithItsExecution checks an execution that ends while a task writes the summary
// of a compaction. The log has one event about the failed compaction, however the execution ends
// and whatever the task does. There is no such event for tasks of other kinds.
func TestACompactionEndsWithItsExecution(t *testing.T) {
	const cancelled, ended = "the run was cancelled before the summary was written", "the run ended before the summary was written"
	for name, c := range map[string]struct {
		end  func(b *bench, h *holder, claim perdure.TaskClaim)
		want string
	}{
		"cancelled while it waits": {func(_ *bench, h *holder, claim perdure.TaskClaim) {
			h.suspend(perdure.WaitTask(claim.Lease.TaskID))
			h.cancel()
		}, cancelled},
		"cancelled, the task cancelled": {func(b *bench, h *holder, claim perdure.TaskClaim) {
			h.cancel()
			b.finish(failed(claim, false))
			h.commit(func(c *perdure.Commit) { c.Outcome.Kind = perdure.OutcomeCancelled })
		}, cancelled},
		"cancelled, the task completed": {func(b *bench, h *holder, claim perdure.TaskClaim) {
			h.cancel()
			b.finish(done(claim, `1`))
			h.commit(func(c *perdure.Commit) { c.Outcome.Kind = perdure.OutcomeCancelled })
		}, cancelled},
		"cancelled, the grace over": {func(b *bench, h *holder, _ perdure.TaskClaim) {
			h.cancel()
			b.clock.advance(b.e.CancelGrace + time.Millisecond)
			b.sweep()
		}, cancelled},
		"failed": {func(_ *bench, h *holder, _ perdure.TaskClaim) {
			h.commit(func(c *perdure.Commit) {
				c.Outcome = perdure.Outcome{Kind: perdure.OutcomeFail, Error: &perdure.TaskError{Code: "oops", Message: "no"}}
			})
		}, ended},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			h := b.started()
			_, claim := h.scheduled(`1`, func(o *perdure.TaskOptions) { o.Compacts = perdure.CompactionManual })
			h.scheduled(`2`)
			c.end(b, h, claim)
			if got := b.compactionEnds(h); !slices.Equal(got, []string{c.want}) {
				t.Errorf("the ends of compactions are %q", got)
			}
		})
	}
}

// TestACompactionThatWasNotBegunEndsWithItsExecution checks that the log has an event about the
// failed compaction even if no worker has claimed the task of its summary. It also checks that an
// unknown reason for a compaction is refused.
func TestACompactionThatWasNotBegunEndsWithItsExecution(t *testing.T) {
	b := newBench(t)
	h := b.started()
	odd := h.newTask(`1`, func(o *perdure.TaskOptions) { o.Compacts = "whim" })
	if _, err := h.try(func(c *perdure.Commit) { c.Tasks = []perdure.NewTask{odd} }); !perdure.IsCode(err, perdure.InvalidArgument) || !strings.Contains(err.Error(), "compacts") {
		t.Errorf("an unknown reason: %v", err)
	}
	task := h.newTask(`1`, func(o *perdure.TaskOptions) { o.Compacts = perdure.CompactionManual })
	h.commit(func(c *perdure.Commit) { c.Tasks = []perdure.NewTask{task} })
	h.cancel()
	if got := b.compactionEnds(h); len(got) != 1 {
		t.Errorf("the ends of compactions are %q", got)
	}
}
