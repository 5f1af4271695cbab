package chat

import (
	"net/http"
	"testing"

	"github.com/google/uuid"
	"github.com/perdure/perdure/cmd/perdure/internal/connection"
	"github.com/perdure/perdure/cmd/perdure/internal/connection/connectiontest"
)

// TestRunsAreCompleted checks that the first completion of a run's id reads the list of runs, although
// /resume has not listed them.
func TestRunsAreCompleted(t *testing.T) {
	run := uuid.New()
	c := connectiontest.Answering(t, func(*http.Request) any {
		return map[string]any{"items": []any{map[string]any{"id": run, "kind": "react-agent", "status": "WAITING"}}}
	})
	s := newSession(Options{Conn: &connection.RunConn{Conn: &connection.Conn{Client: c}}})
	s.complete("/resume ")
	s.reads.Wait()
	got := s.complete("/resume " + run.String()[:4])
	s.reads.Wait()
	if len(got) != 1 || got[0].Text != run.String() {
		t.Errorf("the candidates are %+v", got)
	}
	s.id = run
	if got = s.complete("/resume "); len(got) > 0 {
		t.Errorf("the run of the chat is a candidate: %+v", got)
	}
	s.reads.Wait()
}
