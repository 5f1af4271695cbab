package engine

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/bubble"
)

func (b *bench) pause(queue string) {
	b.Helper()
	_, err := b.e.PauseQueue(b.Context(), org, queue)
	b.must(err)
}

// TestPausedQueueGivesNoWork checks that polls claim neither executions nor tasks of a paused
// queue. Other queues are not affected, and running work continues.
func TestPausedQueueGivesNoWork(t *testing.T) {
	b := newBench(t)
	h := b.started()
	h.schedule("1")
	b.pause("default")
	b.pause("default")
	b.start()
	if got := b.claims(); len(got) > 0 {
		t.Errorf("%d executions of the paused queue were claimed", len(got))
	}
	if got := b.taskClaims(); len(got) > 0 {
		t.Errorf("%d tasks of the paused queue were claimed", len(got))
	}
	beat, err := b.d.Heartbeat(t.Context(), perdure.Heartbeat{WorkerID: b.worker, Agents: []perdure.Lease{h.claim.Lease}})
	b.must(err)
	if beat.Agents[0].Lost {
		t.Error("the execution that ran was lost")
	}
	h.commit(func(c *perdure.Commit) {})
	b.must(b.e.ResumeQueue(t.Context(), org, "default"))
	b.must(b.e.ResumeQueue(t.Context(), org, "default"))
	if executions, tasks := len(b.claims()), len(b.taskClaims()); executions != 1 || tasks != 1 {
		t.Errorf("after the pause %d executions and %d tasks were claimed, want 1 and 1", executions, tasks)
	}
	log, err := b.s.AuditLog(t.Context(), org, "", 10)
	b.must(err)
	if len(log.Items) != 2 || log.Items[0].Action != perdure.AuditQueueResumed || log.Items[1].Action != perdure.AuditQueuePaused || log.Items[1].SubjectName != "default" {
		t.Errorf("the audit log has %+v", log.Items)
	}
}

// TestPauseOfOneQueue checks that a poll on several queues gets the work of the queues that are not
// paused. A queue can be paused before it has work.
func TestPauseOfOneQueue(t *testing.T) {
	b := newBench(t)
	b.pause("other")
	b.start()
	p := b.poll(4)
	p.Queues = []string{"other", "default"}
	got, err := b.d.PollAgents(t.Context(), p)
	b.must(err)
	if len(got) != 1 {
		t.Errorf("%d claims, want 1", len(got))
	}
}

// TestPauseStopsEagerClaims checks that the reply to a commit does not contain claims of the tasks
// that the commit creates if their queue is paused.
func TestPauseStopsEagerClaims(t *testing.T) {
	b := newBench(t)
	h := b.started()
	b.pause("default")
	reply := h.commit(func(c *perdure.Commit) {
		c.Tasks = []perdure.NewTask{h.newTask("1")}
		c.Offer = perdure.TaskOffer{WorkerID: b.worker, Kinds: []string{"work"}, Queues: []string{"default"}, Slots: 1}
	})
	if len(reply.Claims) > 0 {
		t.Error("a task of the paused queue was claimed")
	}
}

// TestPauseStopsTheClaimAfterATask checks that the end of a task wakes an execution of a paused
// queue, but does not claim the execution for the worker that finished the task.
func TestPauseStopsTheClaimAfterATask(t *testing.T) {
	b := newBench(t)
	h := b.started()
	ids := h.schedule("1")
	c := b.taskClaim()
	h.commit(suspending(perdure.WaitTask(ids[0])))
	b.pause("default")
	reply := b.finish(perdure.TaskFinish{WorkerID: b.worker, Lease: c.Lease, Result: perdure.Payload{Bytes: []byte("1")}, Parked: true})
	if reply.Claim != nil {
		t.Error("the execution of the paused queue was claimed")
	}
	b.wantStatus(h.id, perdure.StatusPending)
}

// TestResumeWakesPolls checks that the end of a pause wakes the polls that wait.
func TestResumeWakesPolls(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.pause("default")
		b.start()
		poll := b.waits(b.d, b.poll(1))
		before := time.Now()
		b.must(b.e.ResumeQueue(t.Context(), org, "default"))
		if got := <-poll.claims; len(got) != 1 {
			t.Fatalf("%d claims, want 1", len(got))
		}
		if waited := time.Since(before); waited > 0 {
			t.Errorf("the poll took %v: it got no hint", waited)
		}
	})
}

// TestPauseSurvivesARestart checks that a new server on the same store does not claim work of a
// queue that was paused before.
func TestPauseSurvivesARestart(t *testing.T) {
	b := newBench(t)
	b.pause("default")
	b.use(b.s)
	b.start()
	if got := b.claims(); len(got) > 0 {
		t.Errorf("%d executions of the paused queue were claimed", len(got))
	}
}

// TestPauseChecksNames checks that a pause is refused for a name that no queue can have.
func TestPauseChecksNames(t *testing.T) {
	b := newBench(t)
	for _, name := range []string{"", "a\x00b", string(make([]byte, perdure.MaxQueueName+1)), "\xff"} {
		_, err := b.e.PauseQueue(t.Context(), org, name)
		b.wantCode(err, perdure.InvalidArgument)
	}
}

// TestWorkersAreRecorded checks the list of workers: what they registered, what they have claimed,
// and when the server last heard of them. A heartbeat and an open poll both count as contact.
func TestWorkersAreRecorded(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		b := newBench(t)
		worker := uuid.New()
		_, err := b.d.Register(t.Context(), perdure.Registration{
			WorkerID: worker, Queues: []string{"b", "a", "a"}, Version: "v1", Agents: []perdure.KindSpec{{Kind: "agent"}}, AgentSlots: 3, TaskSlots: 4,
		})
		b.must(err)
		b.start()
		h := b.pollOf(worker, 1)[0]
		found := func() *perdure.WorkerInfo {
			t.Helper()
			all, _, err := b.e.Workers(t.Context(), org, uuid.Nil, 100)
			b.must(err)
			for _, w := range all {
				if w.ID == worker {
					return w
				}
			}
			t.Fatal("the worker is not listed")
			return nil
		}
		w := found()
		if w.Version != "v1" || len(w.Queues) != 2 || w.Queues[0] != "a" || w.AgentSlots != 3 || w.TaskSlots != 4 || !w.Connected || w.Embedded ||
			w.Holding != 1 || len(w.Holds) != 1 || w.Holds[0].ExecutionID != h.id {
			t.Errorf("the worker is %+v", w)
		}
		b.clock.advance(perdure.WorkerPresence)
		if found().Connected {
			t.Error("a worker that was not seen is connected")
		}
		_, err = b.d.Heartbeat(t.Context(), perdure.Heartbeat{WorkerID: worker})
		b.must(err)
		b.must(b.e.recordWorkers(t.Context()))
		if !found().Connected {
			t.Error("a worker that sent a heartbeat is not connected")
		}
	})
}
