package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/longtest"
)

// dial returns a client of the server.
func (s *devServer) dial() *client.Client {
	s.t.Helper()
	c, err := client.New(client.Options{BaseURL: strings.TrimSuffix(s.url, "/api/orgs/default"), Key: s.token})
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(c.Close)
	return c
}

// TestBulkActionsOnTheCommandLine checks that a command with a filter cancels runs only after a
// confirmation, and what the commands print.
func TestBulkActionsOnTheCommandLine(t *testing.T) {
	longtest.Skip(t, "seconds")
	dir := t.TempDir()
	d := serveDev(t, dir)
	c := d.dial()
	for _, where := range []string{"later", "later", "elsewhere"} {
		_, err := c.Start(t.Context(), client.StartRequest{
			UserPrompt: "x", Models: []perdure.ModelConfig{{Provider: "scripted", ModelID: "m"}}, Queue: "none",
			Metadata: json.RawMessage(`{"where":"` + where + `"}`),
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	launch(t, dir, "runs", "cancel", "--metadata", "where=later").wantEnd(2, "cancel 2 runs?", "--yes")
	launch(t, dir, "runs", "cancel", "--status", "completed", "--yes").wantEnd(2, "filter.status")
	launch(t, dir, "runs", "cancel", "--created-after", "yesterday").wantEnd(2, "--created-after")
	launch(t, dir, "runs", "retry", "--metadata", "where").wantEnd(2, "--metadata")
	if said := outputOf(t, dir, "runs", "retry"); said != "no runs match" {
		t.Errorf("retry of nothing: %s", said)
	}
	if said := outputOf(t, dir, "runs", "cancel", "--metadata", "where=later", "--reason", "ä", "--yes"); said != "2 runs cancelled" {
		t.Errorf("cancel: %s", said)
	}
	var a perdure.BulkAction
	if err := json.Unmarshal([]byte(outputOf(t, dir, "runs", "cancel", "--kind", perdure.ReactKind, "--yes", "--json")), &a); err != nil || a.Done != 1 || a.Status != perdure.BulkCompleted {
		t.Errorf("cancel --json: %+v, %v", a, err)
	}
	if said := outputOf(t, dir, "runs", "--status", "cancelled"); strings.Count(said, "Cancelled")+strings.Count(said, "CANCELLED")+strings.Count(said, "cancelled") != 3 {
		t.Errorf("the runs: %s", said)
	}
}
