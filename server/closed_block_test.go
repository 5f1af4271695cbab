package server_test

import (
	"context"
	"database/sql"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/server"
)

// TestClosedBlockIsOneRow checks that a text that arrived in a thousand chunks is stored as one row once
// its log block is closed. The size of the database then depends on the size of the text and not on the
// number of chunks. A reader of the log still receives a thousand records.
func TestClosedBlockIsOneRow(t *testing.T) {
	s := openServer(t, server.Config{Dev: true})
	d, worker := s.Dispatch(server.DevOrg), uuid.New()
	_, err := d.Register(t.Context(), perdure.Registration{WorkerID: worker, Queues: []string{"default"}, Agents: []perdure.KindSpec{{Kind: "agent"}}})
	if err != nil {
		t.Fatal(err)
	}
	c := client.Socket(s.Socket(), s.Token())
	defer c.Close()
	if _, err := c.Start(t.Context(), client.StartRequest{Kind: "agent"}); err != nil {
		t.Fatal(err)
	}
	claims, err := d.PollAgents(t.Context(), perdure.Poll{WorkerID: worker, Queues: []string{"default"}, Kinds: []string{"agent"}, Slots: 1, Wait: time.Minute})
	if err != nil || len(claims) != 1 {
		t.Fatalf("%d claims, %v", len(claims), err)
	}
	lease := &claims[0].Lease
	var frames []perdure.Frame
	for i := range int64(1000) {
		frames = append(frames, perdure.Frame{AgentLease: lease, Type: perdure.EventToken, Offset: 4 * i, Text: "word", Close: i == 999})
	}
	if _, err := d.Append(t.Context(), frames); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", filepath.Join(s.Data, "perdure.db")+"?mode=ro")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close() //nolint:errcheck // the test only reads from db
	for table, want := range map[string]int{"log_block": 1, "log_chunk": 0} {
		var n int
		if err := db.QueryRowContext(context.WithoutCancel(t.Context()), "SELECT count(*) FROM "+table).Scan(&n); err != nil || n != want {
			t.Errorf("%s has %d rows, want %d (%v)", table, n, want, err)
		}
	}
	page, err := c.Events(t.Context(), claims[0].Lease.ExecutionID, "", 1000)
	if err != nil || len(page.Items) != 1000 {
		t.Errorf("a reader is given %d records (%v)", len(page.Items), err)
	}
}
