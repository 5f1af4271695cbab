package main

import (
	"bufio"
	"encoding/json"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/longtest"
)

// TestQueuesOnTheCommandLine checks what the commands workers, queues and top print about the
// worker of perdure dev and about a paused queue. It pauses queues, resumes them, and checks that
// resuming says what has changed.
func TestQueuesOnTheCommandLine(t *testing.T) {
	longtest.Skip(t, "seconds")
	dir := t.TempDir()
	serveDev(t, dir)
	var workers struct{ Items []perdure.WorkerInfo }
	if err := json.Unmarshal([]byte(outputOf(t, dir, "workers", "--json")), &workers); err != nil || len(workers.Items) != 1 {
		t.Fatalf("workers: %+v, %v", workers.Items, err)
	}
	w := workers.Items[0]
	if !w.Connected || !w.Embedded || w.AgentSlots == 0 || w.TaskSlots == 0 || len(w.Agents) == 0 || len(w.Queues) == 0 {
		t.Errorf("the worker of dev: %+v", w)
	}
	if said := outputOf(t, dir, "workers"); !strings.Contains(said, w.ID.String()) || !strings.Contains(said, "connected") {
		t.Errorf("workers: %s", said)
	}
	if said := outputOf(t, dir, "queues"); !strings.Contains(said, "default") || !strings.Contains(said, "served") {
		t.Errorf("queues: %s", said)
	}
	launch(t, dir, "queues", "pause").wantEnd(2)
	launch(t, dir, "queues", "pause", "").wantEnd(2, "queue")
	for range 2 {
		if said := outputOf(t, dir, "queues", "pause", "later"); !strings.HasPrefix(said, "later is paused since ") {
			t.Errorf("pause: %s", said)
		}
	}
	if said := outputOf(t, dir, "top"); !strings.Contains(said, "later") || !strings.Contains(said, "paused") || !strings.Contains(said, w.ID.String()) || strings.Contains(said, "\x1b") {
		t.Errorf("top: %s", said)
	}
	var o struct {
		Queues  []perdure.QueueInfo
		Workers []perdure.WorkerInfo
	}
	if err := json.Unmarshal([]byte(outputOf(t, dir, "top", "--json")), &o); err != nil || len(o.Queues) != 2 || len(o.Workers) != 1 || !o.Queues[1].Paused {
		t.Errorf("top --json: %+v, %v", o, err)
	}
	launch(t, dir, "top", "--every", "1ms").wantEnd(2, "--every")
	for _, c := range []struct{ name, want string }{
		{"later", "the queue later is no longer paused and gives out its work again"},
		{"later", "the queue later was not paused, and nothing has changed: it has no work and no workers"},
		{"default", "the queue default was not paused, and nothing has changed: it is served, with 0 waiting and 0 running"},
		{"deflt", "the queue deflt was not paused, and nothing has changed: it has no work and no workers; did you mean default?"},
	} {
		if said := outputOf(t, dir, "queues", "resume", c.name); said != c.want {
			t.Errorf("resume %s: %s", c.name, said)
		}
	}
}

// TestARunThatNobodyTakesSaysWhy checks that perdure show, resume and tail print why a run is
// pending: its queue is paused, or no worker serves the queue.
func TestARunThatNobodyTakesSaysWhy(t *testing.T) {
	longtest.Skip(t, "seconds")
	dir := t.TempDir()
	write(t, dir, "s", "turn\n  text Done.\n")
	serveDev(t, dir)
	outputOf(t, dir, "run", "--detach", "--model", "scripted/s", "--queue", "nope", "x")
	const unserved = "no worker serves the queue nope; perdure worker --queue nope starts one"
	launch(t, dir, "show", "last").wantEnd(0, unserved)
	p := launchMerged(t, dir, "resume", "last")
	p.until(unserved)
	p.signal(syscall.SIGINT)
	p.end()
	outputOf(t, dir, "queues", "pause", "default")
	outputOf(t, dir, "run", "--detach", "--model", "scripted/s", "x")
	const paused = "the queue default is paused; perdure queues resume default gives out its work again"
	launch(t, dir, "show", "last").wantEnd(0, paused)
	p = launchMerged(t, dir, "tail", "last")
	p.until(paused)
	outputOf(t, dir, "queues", "resume", "default")
	p.until("Done.")
	p.signal(syscall.SIGINT)
	p.end()
}

// launchMerged starts perdure with its standard error and its standard output in one stream.
func launchMerged(t *testing.T, dir string, args ...string) *program {
	t.Helper()
	p := &program{t: t, cmd: exec.Command("perdure", args...)}
	p.cmd.Dir, p.cmd.Env = dir, clean(dir)
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.cmd.Stderr, p.out = p.cmd.Stdout, bufio.NewReader(out)
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // most programs have ended by then
		_ = p.cmd.Process.Kill()
		_ = p.cmd.Wait()
	})
	return p
}
