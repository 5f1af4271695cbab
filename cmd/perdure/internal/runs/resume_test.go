package runs

import (
	"bytes"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/cmd/perdure/internal/builtin"
	"github.com/perdure/perdure/cmd/perdure/internal/connection"
	"github.com/perdure/perdure/cmd/perdure/internal/connection/connectiontest"
	"github.com/perdure/perdure/cmd/perdure/internal/setup"
	"github.com/perdure/perdure/cmd/perdure/internal/terminal"
	"github.com/perdure/perdure/cmd/perdure/internal/watcher"
)

// TestResumeRefusesAMessageThatTheRunDoesNotWaitFor checks that perdure resume refuses a message,
// and does not send it, if the run waits for a signal that is not a message. The run would never
// take the message, and the command would wait forever.
func TestResumeRefusesAMessageThatTheRunDoesNotWaitFor(t *testing.T) {
	for _, signal := range []string{"approve", perdure.UserMessage, "*"} {
		run, sent := uuid.New(), 0
		waiting := map[string]any{"id": run, "kind": "greeter", "status": "WAITING", "waitReason": "signal", "wait": map[string]any{"signal": signal}}
		c := connectiontest.Answering(t, func(r *http.Request) any {
			switch {
			case r.Method == http.MethodPost:
				sent++
				return map[string]any{"signalId": "s", "status": "accepted"}
			case strings.HasSuffix(r.URL.Path, "/snapshot"):
				return map[string]any{"execution": waiting, "cursor": "0"}
			}
			return waiting
		})
		a := &setup.App{Streams: terminal.Streams{Stdout: terminal.NewScreen(&bytes.Buffer{}), Stderr: terminal.NewScreen(&bytes.Buffer{})}, ServerFlags: " --server here"}
		r := &resumeCommand{App: a, worker: &builtin.Worker{}}
		w := watcher.New(a, &connection.RunConn{App: a, Conn: &connection.Conn{Client: c}}, run)
		_, err := r.wake(t.Context(), w, &perdure.Execution{ID: run, Kind: "greeter"}, "go on")
		var usage setup.UsageError
		if takes := signal != "approve"; takes != (err == nil) || takes != (sent == 1) || !takes && !errors.As(err, &usage) {
			t.Errorf("waiting for %s: %v, %d messages sent", signal, err, sent)
		}
		if err != nil && !strings.Contains(err.Error(), "perdure signal "+run.String()+" approve JSON --server here") {
			t.Errorf("the refusal is %v", err)
		}
	}
}
