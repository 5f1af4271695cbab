package engine

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/bubble"
)

// TestAnotherOrgsWorkerReachesNothing checks that a worker of another org gets no access to an
// execution, even with correct leases and ids. The worker tries to finish a task, to read and store
// blobs, to append, renew, release and poll. No stored data of the execution changes.
func TestAnotherOrgsWorkerReachesNothing(t *testing.T) {
	b := newBench(t)
	h := b.started()
	ids := h.schedule("1")
	task := b.taskClaim()
	blob, err := b.d.PutBlob(t.Context(), perdure.BlobOwner{ExecutionID: h.id, Lease: &h.claim.Lease}, 4, strings.NewReader("mine"))
	b.must(err)
	h.suspend(perdure.WaitTask(ids[0]))
	foreign := b.e.Dispatch("globex", false)
	before := b.snapshot(h.id)
	for _, f := range []perdure.TaskFinish{done(task, `"theirs"`), failed(task, true)} {
		_, err := foreign.FinishTask(t.Context(), f)
		b.wantCode(err, perdure.NotFound)
	}
	_, err = foreign.GetBlob(t.Context(), h.id, blob.ID)
	b.wantCode(err, perdure.NotFound)
	for name, owner := range map[string]perdure.BlobOwner{
		"execution": {ExecutionID: h.id, Lease: &h.claim.Lease}, "task": {ExecutionID: h.id, TaskLease: &task.Lease},
	} {
		if _, err := foreign.PutBlob(t.Context(), owner, 1, strings.NewReader("x")); err == nil {
			t.Errorf("a blob of the %s was stored", name)
		}
	}
	frames, err := foreign.Append(t.Context(), []perdure.Frame{{Lease: &task.Lease, Type: perdure.EventToken, Text: "theirs"}})
	if err == nil && frames[0].Err == nil {
		t.Error("a frame was stored")
	}
	b.must(foreign.Release(t.Context(), perdure.Release{
		Agents: []perdure.AgentRelease{{Lease: h.claim.Lease}}, Tasks: []perdure.TaskRelease{{Lease: task.Lease}},
	}))
	beat, err := foreign.Heartbeat(t.Context(), perdure.Heartbeat{
		Tasks:  []perdure.TaskHeartbeat{{Lease: task.Lease, Progress: []byte(`1`)}},
		Parked: []perdure.ParkedExecution{{ExecutionID: h.id, At: perdure.CommitNumber{Fence: 1, Number: 2}}},
	})
	b.must(err)
	if !beat.Tasks[0].Lost || beat.Parked[0] != perdure.ParkedEnded {
		t.Errorf("the heartbeat says %+v", beat)
	}
	p := b.poll(8)
	claims, err := foreign.PollTasks(t.Context(), p)
	b.must(err)
	if len(claims) != 0 {
		t.Error("a task was claimed")
	}
	if after := b.snapshot(h.id); after != before {
		t.Errorf("something was written:\n%s\n%s", before, after)
	}
}

// TestKeysAreStoredHashed checks that the database files contain neither the secret of an API key
// nor the second half of the secret.
func TestKeysAreStoredHashed(t *testing.T) {
	b := newBench(t)
	_, secret, err := b.e.CreateKey(t.Context(), org, "ci", perdure.KeyWorker)
	b.must(err)
	files, err := filepath.Glob(b.path + "*")
	b.must(err)
	for _, file := range files {
		content, err := os.ReadFile(file)
		b.must(err)
		if bytes.Contains(content, []byte(secret)) || bytes.Contains(content, []byte(secret[len(secret)/2:])) {
			t.Errorf("%s holds the secret", filepath.Base(file))
		}
	}
	if _, err := b.e.Authenticate(t.Context(), secret); err != nil || len(files) == 0 {
		t.Errorf("the key does not open: %v; %d files", err, len(files))
	}
}

// TestTasksGoToTheirExecutionsQueue checks that a task runs on the queue of its execution, unless
// the task's options name another queue. The claim of the task contains the execution's workspace.
func TestTasksGoToTheirExecutionsQueue(t *testing.T) {
	b := newBench(t)
	x, err := b.e.Start(t.Context(), org, StartRequest{Kind: "agent", Queue: "gpu", Workspace: "a/./b"})
	b.must(err)
	poll := b.poll(8)
	poll.Queues = []string{"gpu"}
	claims, err := b.d.PollAgents(t.Context(), poll)
	b.must(err)
	h := &holder{bench: b, claim: claims[0], id: x.ID}
	own := h.newTask("1")
	sent := h.newTask("2", func(o *perdure.TaskOptions) { o.Queue = "default" })
	h.commit(func(c *perdure.Commit) { c.Tasks = []perdure.NewTask{own, sent} })
	for queue, want := range map[string]uuid.UUID{"gpu": perdure.TaskID(own.Key), "default": perdure.TaskID(sent.Key)} {
		poll.Queues = []string{queue}
		tasks, err := b.d.PollTasks(t.Context(), poll)
		b.must(err)
		if len(tasks) != 1 || tasks[0].Lease.TaskID != want || tasks[0].Workspace != "a/b" {
			t.Errorf("queue %s has %+v", queue, tasks)
		}
	}
}

// TestRevokedKeyStopsOnEveryServer checks that an API key that was revoked on one server is refused
// on every other server within five seconds, although each server caches keys.
func TestRevokedKeyStopsOnEveryServer(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		b := newBench(t)
		other := New(Config{Store: b.s})
		key, secret, err := b.e.CreateKey(t.Context(), org, "ci", perdure.KeyWorker)
		b.must(err)
		_, err = other.Authenticate(t.Context(), secret)
		b.must(err)
		_, err = b.e.RevokeKey(t.Context(), org, key.ID)
		b.must(err)
		for since := time.Now(); ; time.Sleep(100 * time.Millisecond) {
			if _, err = other.Authenticate(t.Context(), secret); err != nil {
				break
			}
			if time.Since(since) > 5*time.Second {
				t.Fatal("after five seconds it is still believed")
			}
		}
		b.wantCode(err, perdure.Unauthenticated)
	})
}
