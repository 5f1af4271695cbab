package main

import (
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/longtest"
)

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
