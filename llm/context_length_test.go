package llm_test

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/llm"
	"github.com/perdure/perdure/llm/llmtest"
)

// answered is an error from a server: the body of a response or, if Event is true, an event in a
// stream. If Over is set, the server refused the request because of the model's context window.
type answered struct {
	From, Provider string
	Status         int
	Event, Over    bool
	Body           json.RawMessage
}

func answeredErrors(t *testing.T) []answered {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata", "context_length.json"))
	if err != nil {
		t.Fatal(err)
	}
	var all []answered
	if err := json.Unmarshal(raw, &all); err != nil {
		t.Fatal(err)
	}
	return all
}

// TestAnswersAboutTheWindow checks the kind of error for recorded answers of servers. If the server
// refused the request because of the context window, the kind is context_length, and the error is
// not retryable. Size limits in bytes, rate limits and other errors have another kind.
func TestAnswersAboutTheWindow(t *testing.T) {
	over := 0
	for _, a := range answeredErrors(t) {
		var e *llm.Error
		if a.Event {
			e = llm.EventError(a.Provider, a.Body)
		} else {
			e = llm.StatusError(a.Provider, a.Status, http.Header{}, a.Body)
		}
		if is := e.Kind == llm.ContextLength; is != a.Over || is && e.Retryable || e.Message == "" {
			t.Errorf("%s: %v, retryable %v; over the window: %v", a.From, e, e.Retryable, a.Over)
		}
		if a.Over {
			over++
		}
	}
	if over < 10 {
		t.Errorf("only %d answers are about the window", over)
	}
}

// TestEachProviderTellsOfTheWindow checks, for each provider, the error if a server refuses a
// request because of the context window. The error must have the kind context_length.
func TestEachProviderTellsOfTheWindow(t *testing.T) {
	asked := map[string]int{}
	for _, a := range answeredErrors(t) {
		for _, r := range remotes {
			answer := llmtest.Answer{Status: a.Status, Body: string(a.Body)}
			if a.Event {
				answer = llmtest.Answer{Event: oneLine(t, a.Body)}
			}
			p, _ := r.Serve(t, answer)
			if p.Name() != a.Provider || !a.Over {
				continue
			}
			asked[p.Name()]++
			_, _, err := llmtest.TryAsk(t.Context(), p, llm.Request{Model: r.Model, Messages: []perdure.Message{perdure.UserText("hi")}})
			_ = llmtest.WantError(t, err, llm.ContextLength, false)
		}
	}
	for _, r := range remotes {
		p, _ := r.Serve(t, llmtest.Answer{})
		if asked[p.Name()] == 0 {
			t.Errorf("%s has no answer", p.Name())
		}
	}
}

func oneLine(t *testing.T, raw json.RawMessage) string {
	t.Helper()
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatal(err)
	}
	line, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(line))
}
