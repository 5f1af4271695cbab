package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/client"
)

// A message for a run that waits for another signal is refused and not sent. The run would never
// take it, and the command would wait forever.
func TestResumeRefusesAMessageThatTheRunDoesNotWaitFor(t *testing.T) {
	for _, signal := range []string{"approve", perdure.UserMessage, "*"} {
		run, sent := uuid.New(), 0
		waiting := map[string]any{"id": run, "kind": "greeter", "status": "WAITING", "waitReason": "signal", "wait": map[string]any{"signal": signal}}
		c := answering(t, func(r *http.Request) any {
			switch {
			case r.Method == http.MethodPost:
				sent++
				return map[string]any{"signalId": "s", "status": "accepted"}
			case strings.HasSuffix(r.URL.Path, "/snapshot"):
				return map[string]any{"execution": waiting, "cursor": "0"}
			}
			return waiting
		})
		a := &app{stdout: newScreen(&bytes.Buffer{}), stderr: newScreen(&bytes.Buffer{}), typed: " --server here"}
		r := &resumer{app: a, standard: standard{}}
		w := a.watcher(&seat{app: a, link: &link{Client: c}}, run)
		_, err := r.wake(t.Context(), w, &perdure.Execution{ID: run, Kind: "greeter"}, "go on")
		var usage usageError
		if takes := signal != "approve"; takes != (err == nil) || takes != (sent == 1) || !takes && !errors.As(err, &usage) {
			t.Errorf("waiting for %s: %v, %d messages sent", signal, err, sent)
		}
		if err != nil && !strings.Contains(err.Error(), "perdure signal "+run.String()+" approve JSON --server here") {
			t.Errorf("the refusal is %v", err)
		}
	}
}

// show prints the output of a custom agent, at most one screen.
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
		a := &app{stdout: newScreen(&out), stderr: newScreen(&out)}
		if err := a.show(t.Context(), &link{Client: c}, run.String()); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(out.String(), want) || out.Len() > 9000 || strings.Contains(out.String(), "\x1b") {
			t.Errorf("show prints %d bytes without %q:\n%.200s", out.Len(), want, &out)
		}
	}
}

// answering returns a client of a server that returns the results of answer.
func answering(t *testing.T, answer func(*http.Request) any) *client.Client {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if err := json.NewEncoder(w).Encode(answer(r)); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(server.Close)
	c, err := client.New(client.Options{BaseURL: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	return c
}
