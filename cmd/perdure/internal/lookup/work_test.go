package lookup

import (
	"bytes"
	"encoding/json"
	"fmt"
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

func signal(name, state string, value any) map[string]any {
	return map[string]any{"signalId": name, "signalName": name, "state": state, "signalValue": value, "createdAt": "2026-01-01T00:00:00.000Z"}
}

// TestShowPrintsSignals checks that perdure show prints the newest signals of a run, and for each
// signal whether the run has received it. Messages that a react agent has received are in its
// conversation, and are not printed a second time as signals.
func TestShowPrintsSignals(t *testing.T) {
	long := strings.Repeat("é", 5000)
	signals := []any{
		signal("userMessage", "consumed", map[string]any{"text": "hello"}), signal("userMessage", "pending", map[string]any{"text": "and again"}),
		signal("model\x1b[2J", "taken", map[string]any{"modelId": "a\nb"}), signal("long", "pending", long), signal("empty", "consumed", nil),
		map[string]any{"signalName": "large", "state": "pending", "signalValueBytes": 300 << 10, "createdAt": "2026-01-01T00:00:00.000Z"},
	}
	many := make([]any, 0, 150)
	for i := range 150 {
		many = append(many, signal(fmt.Sprint("n", i), "pending", i))
	}
	for name, c := range map[string]struct {
		kind, status, mode string
		input, signals     any
		want, not          []string
	}{
		"another kind": {"order", "WAITING", "REMOTE", nil, signals, []string{
			"signal userMessage · taken · 20", ` · {"text":"hello"}` + "\n", "signal userMessage · not taken yet · 20", `signal model\u001b[2J · taken · 20`, `{"modelId":"a\nb"}`,
			"éé… (9.8 KiB)\n", "signal large · not taken yet · 2026", " · (a value of 300.0 KiB)\n",
		}, []string{"null", "earlier"}},
		"a react agent": {"react-agent", "WAITING", "REMOTE", nil, signals, []string{"signal userMessage · not taken yet · 20", "signal model"}, []string{"hello"}},
		"an ended run":  {"order", "COMPLETED", "REMOTE", nil, signals, []string{"signal long · not taken · 20"}, []string{"not taken yet"}},
		"a LOCAL run":   {"order", "COMPLETED", "LOCAL", "worker", []any{signal("a", "taken", "worker")}, []string{"input: (content on worker)\n", " · (content on worker)\n", "output: (content on worker)\n"}, []string{`"worker"`}},
		"many":          {"order", "WAITING", "REMOTE", "worker", many, []string{`input: "worker"`, "… 50 earlier signals; --json shows all\nsignal n50 ", "signal n149 "}, []string{"signal n49 "}},
		"an old server": {"order", "WAITING", "REMOTE", nil, nil, []string{"order · waits for a signal"}, []string{"signal model"}},
	} {
		run := uuid.New()
		conn := &connection.Conn{Client: connectiontest.AnsweringStatus(t, func(r *http.Request) (int, any) {
			switch {
			case strings.HasSuffix(r.URL.Path, "/signals") && c.signals == nil:
				return 404, map[string]any{"code": "not_found", "status": 404}
			case strings.HasSuffix(r.URL.Path, "/signals"):
				return 200, map[string]any{"items": c.signals}
			case strings.HasSuffix(r.URL.Path, "/tasks"), strings.HasSuffix(r.URL.Path, "/entries"):
				return 200, map[string]any{"items": []any{}}
			}
			return 200, map[string]any{"id": run, "kind": c.kind, "status": c.status, "persistenceMode": c.mode, "input": c.input, "output": c.input}
		})}
		for _, asJSON := range []bool{false, true} {
			var out bytes.Buffer
			a := &setup.App{Streams: terminal.Streams{Stdout: terminal.NewScreen(&out), Stderr: terminal.NewScreen(&out)}, JSON: asJSON}
			if err := show(t.Context(), a, conn, run.String()); err != nil {
				t.Fatal(name, err)
			}
			if asJSON {
				wantSignals(t, name, out.Bytes(), c.signals)
				continue
			}
			for _, want := range c.want {
				if !strings.Contains(out.String(), want) {
					t.Errorf("%s: show does not print %q:\n%s", name, want, &out)
				}
			}
			for _, not := range append(c.not, "\x1b") {
				if strings.Contains(out.String(), not) {
					t.Errorf("%s: show prints %q:\n%s", name, not, &out)
				}
			}
		}
	}
}

// wantSignals checks the number of signals that show --json prints.
func wantSignals(t *testing.T, name string, printed []byte, signals any) {
	t.Helper()
	var x struct {
		Signals []perdure.Signal `json:"signals"`
	}
	all, _ := signals.([]any)
	if err := json.Unmarshal(printed, &x); err != nil || len(x.Signals) != len(all) || x.Signals == nil {
		t.Errorf("%s: --json has %d of %d signals, %v", name, len(x.Signals), len(all), err)
	}
}
