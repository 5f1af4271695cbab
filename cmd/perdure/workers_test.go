package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/longtest"
)

// TestQueuesOnTheCommandLine checks the commands for workers and queues.
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
	if said := outputOf(t, dir, "queues", "resume", "later"); said != "later is not paused" {
		t.Errorf("resume: %s", said)
	}
}
