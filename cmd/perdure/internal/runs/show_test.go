package runs

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/perdure/perdure/cmd/perdure/internal/connection"
	"github.com/perdure/perdure/cmd/perdure/internal/setup"
	"github.com/perdure/perdure/cmd/perdure/internal/terminal"
)

// show prints the output of a custom agent without control characters. It cuts a long output.
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
		c := answering(t, func(r *http.Request) any {
			if strings.HasSuffix(r.URL.Path, "/entries") || strings.HasSuffix(r.URL.Path, "/tasks") {
				return map[string]any{"items": []any{}}
			}
			return map[string]any{"id": run, "kind": "greeter", "status": "COMPLETED", "output": json.RawMessage(output)}
		})
		var out bytes.Buffer
		a := &setup.App{Streams: terminal.Streams{Stdout: terminal.NewScreen(&out), Stderr: terminal.NewScreen(&out)}}
		if err := show(t.Context(), a, &connection.Conn{Client: c}, run.String()); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(out.String(), want) || out.Len() > 9000 || strings.Contains(out.String(), "\x1b") {
			t.Errorf("show prints %d bytes without %q:\n%.200s", out.Len(), want, &out)
		}
	}
}
