package main

import (
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/longtest"
)

// TestPruneAsksInATerminal checks that a prune in a terminal shows what it would delete, and
// deletes nothing unless a person confirms it. The command asks nobody with --yes, without a
// terminal, or if there is nothing to delete.
func TestPruneAsksInATerminal(t *testing.T) {
	longtest.Skip(t, "seconds")
	dir := t.TempDir()
	d := serveDev(t, dir)
	c := d.dial()
	left := func() int {
		t.Helper()
		p, err := c.ListPage(t.Context(), client.ExecutionFilter{}, client.PageOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return len(p.Items)
	}
	ended := func() {
		t.Helper()
		x, err := c.Start(t.Context(), client.StartRequest{UserPrompt: "x", Models: scriptedModels, Queue: "none"})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Cancel(t.Context(), x.ID); err != nil {
			t.Fatal(err)
		}
	}
	ended()
	for _, said := range []struct {
		answer, shown string
		left          int
	}{{"", "nothing was changed", 1}, {"n", "nothing was changed", 1}, {"y", "deleted 1 runs", 0}} {
		p := inTerminal(t, dir, "runs", "prune", "--older-than", "0")
		p.until("would delete 1 runs, ")
		p.until("1 cancelled")
		p.until("Delete this? [y/N] ")
		p.enter(said.answer)
		p.until(said.shown)
		p.wantEnd(0)
		if n := left(); n != said.left {
			t.Errorf("after %q there are %d runs", said.answer, n)
		}
	}
	p := inTerminal(t, dir, "runs", "prune", "--older-than", "0")
	p.until("nothing to delete")
	p.wantEnd(0)
	ended()
	p = inTerminal(t, dir, "runs", "prune", "--older-than", "0", "--yes")
	p.until("deleted 1 runs")
	p.wantEnd(0)
	ended()
	launch(t, dir, "runs", "prune", "--older-than", "0").wantEnd(0, "deleted 1 runs")
}

// TestBulkActionsAskInATerminal checks that a bulk action changes no run unless a person confirms the
// number of runs in the terminal.
func TestBulkActionsAskInATerminal(t *testing.T) {
	longtest.Skip(t, "seconds")
	dir := t.TempDir()
	d := serveDev(t, dir)
	c := d.dial()
	x, err := c.Start(t.Context(), client.StartRequest{UserPrompt: "x", Models: []perdure.ModelConfig{{Provider: "scripted", ModelID: "m"}}, Queue: "none"})
	if err != nil {
		t.Fatal(err)
	}
	for _, said := range []struct {
		answer, shown string
		status        perdure.Status
	}{{"", "nothing was changed", perdure.StatusPending}, {"n", "nothing was changed", perdure.StatusPending}, {"y", "1 run cancelled", perdure.StatusCancelled}} {
		p := inTerminal(t, dir, "runs", "cancel", "--kind", perdure.ReactKind)
		p.until("Cancel 1 run? [y/N] ")
		p.enter(said.answer)
		p.until(said.shown)
		p.wantEnd(0)
		if now, err := c.Get(t.Context(), x.ID); err != nil || now.Status != said.status {
			t.Errorf("after %q the run is %+v, %v", said.answer, now, err)
		}
	}
}
