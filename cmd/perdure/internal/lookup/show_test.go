package lookup

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/cmd/perdure/internal/connection"
	"github.com/perdure/perdure/cmd/perdure/internal/connection/connectiontest"
	"github.com/perdure/perdure/cmd/perdure/internal/setup"
	"github.com/perdure/perdure/cmd/perdure/internal/terminal"
)

// TestShowPrintsTheOutputOfAnAgent checks that perdure show prints the input, the tasks and the output
// of a custom agent without control characters. It cuts a long output.
func TestShowPrintsTheOutputOfAnAgent(t *testing.T) {
	long, err := json.Marshal(strings.Repeat("é", 5000))
	if err != nil {
		t.Fatal(err)
	}
	for output, want := range map[string]string{
		`"Hello \u001b[2J ANN"`: `output: "Hello \u001b[2J ANN"`,
		string(long):            "10,002 bytes; --json shows all",
	} {
		run := uuid.New()
		c := connectiontest.Answering(t, func(r *http.Request) any {
			switch {
			case strings.HasSuffix(r.URL.Path, "/tasks"):
				return map[string]any{"items": []any{
					map[string]any{"kind": "draft", "status": "COMPLETED", "step": true}, map[string]any{"kind": "draft", "instance": "b\x1b[2J", "status": "COMPLETED", "step": true}, map[string]any{"kind": "send", "status": "COMPLETED", "attempt": 2}, map[string]any{"kind": "mail\x1b[2J", "status": "FAILED", "attempt": 1, "error": map[string]any{"message": "no\nroute"}},
				}}
			case strings.HasSuffix(r.URL.Path, "/entries"):
				return map[string]any{"items": []any{}}
			}
			return map[string]any{"id": run, "kind": "greeter", "status": "COMPLETED", "input": map[string]any{"name": "Ann"}, "output": json.RawMessage(output)}
		})
		var out bytes.Buffer
		a := &setup.App{Streams: terminal.Streams{Stdout: terminal.NewScreen(&out), Stderr: terminal.NewScreen(&out)}}
		if err := show(t.Context(), a, &connection.Conn{Client: c}, run.String()); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(out.String(), want) || out.Len() > 9000 || strings.Contains(out.String(), "\x1b") {
			t.Errorf("show prints %d bytes without %q:\n%.200s", out.Len(), want, &out)
		}
		for _, want := range []string{`input: {"name":"Ann"}`, "step draft · completed\n", `step draft (b\u001b[2J) · completed` + "\n", "task send · completed · attempt 2\n", `task mail\u001b[2J · failed · no\u000aroute` + "\n"} {
			if !strings.Contains(out.String(), want) {
				t.Errorf("show does not print %q:\n%.300s", want, &out)
			}
		}
	}
}

// TestShowOfARunAtWork checks perdure show of a run whose calls are running: it prints the calls,
// since when they run, and how to watch the run. For a failed run it suggests commands, but not
// perdure show itself.
func TestShowOfARunAtWork(t *testing.T) {
	for status, c := range map[string]struct {
		kind   string
		tasks  []any
		want   []string
		unlike string
	}{
		"WAITING": {perdure.ReactKind, []any{
			map[string]any{"kind": "bash", "status": "COMPLETED", "input": map[string]any{"command": "ls"}},
			map[string]any{"kind": "bash", "status": "RUNNING", "input": map[string]any{"command": "sleep\x1b[2J 30"}, "startedAt": "2026-01-01T00:00:00.000Z"},
			map[string]any{"kind": "grep", "status": "PENDING", "input": "worker"},
			map[string]any{"kind": perdure.ModelTaskKind, "status": "RUNNING", "input": map[string]any{"model": map[string]any{"provider": "p", "modelId": "m"}}, "startedAt": "2026-01-01T00:00:00.000Z"},
		}, []string{"react-agent · working · ", `● bash sleep\u001b[2J 30 · runs since 20`, "● grep · waits for a worker\n", "● model call p/m · runs since 20", "watch it:  perdure tail "}, " ls"},
		"FAILED": {"order", nil, []string{"its log:      perdure tail ", `start again:  perdure start order '{"a":1}'` + "\n"}, "perdure show"},
	} {
		run := uuid.New()
		conn := &connection.Conn{Client: connectiontest.Answering(t, func(r *http.Request) any {
			switch {
			case strings.HasSuffix(r.URL.Path, "/tasks"):
				return map[string]any{"items": c.tasks}
			case strings.HasSuffix(r.URL.Path, "/entries"), strings.HasSuffix(r.URL.Path, "/queues"):
				return map[string]any{"items": []any{}}
			}
			return map[string]any{"id": run, "kind": c.kind, "status": status, "waitReason": "task", "persistenceMode": "REMOTE", "input": map[string]any{"a": 1}}
		})}
		var out bytes.Buffer
		a := &setup.App{Streams: terminal.Streams{Stdout: terminal.NewScreen(&out), Stderr: terminal.NewScreen(&out)}}
		if err := show(t.Context(), a, conn, run.String()); err != nil {
			t.Fatal(err)
		}
		for _, want := range c.want {
			if !strings.Contains(out.String(), want) {
				t.Errorf("show does not print %q:\n%s", want, &out)
			}
		}
		if strings.Contains(out.String(), c.unlike) || strings.Contains(out.String(), "\x1b") {
			t.Errorf("show prints %q or a control character:\n%s", c.unlike, &out)
		}
	}
}
