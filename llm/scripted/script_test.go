package scripted_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/bubble"
	"github.com/perdure/perdure/llm"
	"github.com/perdure/perdure/llm/llmtest"
	"github.com/perdure/perdure/llm/scripted"
)

func request(messages ...perdure.Message) llm.Request {
	return llm.Request{Model: "test.script", Messages: messages}
}

func TestTour(t *testing.T) {
	p := scripted.New(scripted.Config{Dir: "testdata"})
	req := llm.Request{Model: "tour.script", Messages: []perdure.Message{perdure.UserText("Please look around.")}}
	first, _ := llmtest.Ask(t, p, req)
	want := []perdure.Part{
		{Type: perdure.PartThinking, Thinking: "The user wants to know what is here.\nListing files is harmless."},
		perdure.Text("I will look around."),
		{Type: perdure.PartToolCall, ProviderID: "call_1_1", Name: "bash", RawArguments: `{"command": "ls"}`, Arguments: []byte(`{"command": "ls"}`)},
	}
	if diff := cmp.Diff(want, first.Parts[:3]); diff != "" {
		t.Errorf("first turn (-want +got):\n%s", diff)
	}
	if got := string(first.Parts[3].Arguments); got != "{\n    \"path\": \"go.mod\",\n    \"limit\": 20\n  }" {
		t.Errorf("arguments over several lines are %q", got)
	}
	if first.Usage.Cost == nil || *first.Usage.Cost != 0 || first.Usage.Output == 0 {
		t.Errorf("usage is %+v", first.Usage)
	}

	done := append(req.Messages, llmtest.Answered(first, "go.mod\nmain.go")...)
	second, _ := llmtest.Ask(t, p, llm.Request{Model: "tour.script", Messages: done})
	if got := second.PlainText(); got != "There are two files:\n\n- go.mod\n- main.go" {
		t.Errorf("second turn says %q", got)
	}
	if u := second.Usage; u.Input != 1200 || u.Output != 40 || u.CacheRead != 1000 || u.TotalTokens != 2240 {
		t.Errorf("usage is %+v", u)
	}

	stopped := append(req.Messages, llmtest.Answered(first, "the tool was interrupted")...)
	second, _ = llmtest.Ask(t, p, llm.Request{Model: "tour.script", Messages: stopped})
	if got := second.PlainText(); got != "The command was interrupted, so I stop here." {
		t.Errorf("after an interruption it says %q", got)
	}

	again := append(stopped, llmtest.Answered(second, "")...)
	third, _ := llmtest.Ask(t, p, llm.Request{Model: "tour.script", Messages: append(again, perdure.UserText("Thanks"))})
	if third.StopReason != perdure.StopMaxTokens {
		t.Errorf("third turn stops with %s", third.StopReason)
	}
}

func TestRefusals(t *testing.T) {
	hi := perdure.UserText("hi")
	said := perdure.Message{Role: perdure.RoleAssistant, Content: perdure.Content{Parts: []perdure.Part{perdure.Text("x")}}}
	for name, c := range map[string]struct {
		script   string
		messages []perdure.Message
		want     string
	}{
		"after the last turn":   {"turn\ntext x", []perdure.Message{hi, said, hi}, "has 1 turns, and the conversation asks for turn 2"},
		"unmet expectation":     {"turn\nexpect magic word\ntext x", []perdure.Message{hi}, `expected "magic word"`},
		"no alternative":        {"turn\nwhen magic\ntext x", []perdure.Message{hi}, "no alternative of turn 1"},
		"old news":              {"turn\ntext x\nturn\nwhen hi\ntext y", []perdure.Message{hi, said, perdure.UserText("bye")}, "no alternative of turn 2"},
		"unknown word":          {"turn\nsay x", []perdure.Message{hi}, `line 2: "say" is no word`},
		"nothing said":          {"turn\nstop end_turn", []perdure.Message{hi}, "line 1: the turn says nothing"},
		"nothing in one branch": {"turn\nwhen a\ntext x\nelse\npause 1s", []perdure.Message{hi}, "the turn says nothing"},
		"no turn":               {"# empty\n", []perdure.Message{hi}, "there is no turn"},
		"before the turn":       {"text x\nturn\ntext y", []perdure.Message{hi}, "before the first turn"},
		"open block":            {"turn\ntext <<END\nx", []perdure.Message{hi}, "<<END has no end"},
		"no JSON":               {"turn\ncall f {\"x\": \n\nturn\ntext y", []perdure.Message{hi}, "the arguments of f are not JSON"},
		"bad pace":              {"pace fast\nturn\ntext x", []perdure.Message{hi}, "line 1:"},
		"bad stop":              {"turn\ntext x\nstop now", []perdure.Message{hi}, "line 3:"},
		"bad usage":             {"turn\ntext x\nusage in=-1", []perdure.Message{hi}, "line 3:"},
		"bad failure":           {"turn\nfail maybe", []perdure.Message{hi}, "line 2:"},
		"when without words":    {"turn\nwhen\ntext x", []perdure.Message{hi}, "line 2:"},
		"expect without words":  {"turn\nexpect\ntext x", []perdure.Message{hi}, "line 2:"},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := llmtest.TryAsk(t.Context(), write(t, c.script), request(c.messages...))
			if e := llmtest.WantError(t, err, llm.InvalidRequest, false); !strings.Contains(e.Message, c.want) {
				t.Errorf("message %q, want %q in it", e.Message, c.want)
			}
		})
	}
}

func TestFailures(t *testing.T) {
	for kind, retryable := range map[llm.ErrorKind]bool{llm.Overloaded: true, llm.RateLimited: true, llm.Auth: false, llm.Refused: false} {
		_, deltas, err := llmtest.TryAsk(t.Context(), write(t, "turn\ntext some words\nfail "+string(kind)+" as planned"), request())
		if e := llmtest.WantError(t, err, kind, retryable); e.Message != "as planned" || len(deltas) != 2 {
			t.Errorf("got %v after %d pieces", e, len(deltas))
		}
	}
}

// TestConfined checks that paths and links that lead outside the directory are refused, and that
// the error does not contain the directory's path. It also checks that the provider refuses an
// endpoint.
func TestConfined(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "secret.script")
	if err := os.WriteFile(outside, []byte("turn\ntext secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.Symlink(outside, filepath.Join(dir, "link.script")); err != nil {
		t.Fatal(err)
	}
	p := scripted.New(scripted.Config{Dir: dir})
	up, err := filepath.Rel(dir, outside)
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{up, outside, "link.script", "missing.script", "", "."} {
		_, _, err := llmtest.TryAsk(t.Context(), p, llm.Request{Model: id})
		e := llmtest.WantError(t, err, llm.InvalidRequest, false)
		if strings.Contains(e.Message, dir) {
			t.Errorf("message %q tells where the scripts are", e.Message)
		}
	}
	_, _, err = llmtest.TryAsk(t.Context(), p, llm.Request{Model: "x", BaseURL: "http://x"})
	if !perdure.IsCode(err, perdure.PermissionDenied) {
		t.Errorf("an endpoint: got %v, want permission_denied", err)
	}
}

func TestPace(t *testing.T) {
	p := write(t, "pace 5ms\nturn\ntext one two three\npause 200ms\npace 1ms\ncall f {\"argument\": \"more than sixteen\"}")
	bubble.Test(t, func(t *testing.T) {
		begin := time.Now()
		_, deltas := llmtest.Ask(t, p, request())
		if took := time.Since(begin); took != (3*5+200+3)*time.Millisecond {
			t.Errorf("took %v for %d pieces", took, len(deltas))
		}
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		begin = time.Now()
		_, _, err := llmtest.TryAsk(ctx, p, request())
		if !errors.Is(err, context.DeadlineExceeded) || time.Since(begin) != 50*time.Millisecond {
			t.Errorf("got %v after %v", err, time.Since(begin))
		}
	})
}

func TestJournal(t *testing.T) {
	journal := filepath.Join(t.TempDir(), "calls.jsonl")
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "test.script"), []byte("turn\ncall f\nturn\ntext x\nturn\nfail overloaded"), 0o600); err != nil {
		t.Fatal(err)
	}
	p := scripted.New(scripted.Config{Dir: dir, Journal: journal})
	req := request(perdure.UserText("hi"))
	req.System = "s"
	resp, _ := llmtest.Ask(t, p, req)
	req.Messages = append(req.Messages, llmtest.Answered(resp, "r")...)
	resp, _ = llmtest.Ask(t, p, req)
	req.Messages = append(append(req.Messages, llmtest.Answered(resp, "")...), perdure.UserText("more"))
	_, _, err := llmtest.TryAsk(t.Context(), p, req) // the journal also counts failed calls
	llmtest.WantError(t, err, llm.Overloaded, true)
	req.Messages[0] = perdure.UserText("HI")
	_, _, err = llmtest.TryAsk(t.Context(), p, req)
	llmtest.WantError(t, err, llm.Overloaded, true)

	calls := readJournal(t, journal)
	if len(calls) != 4 {
		t.Fatalf("the journal has %d calls, want 4", len(calls))
	}
	for i, want := range []struct{ turn, messages int }{{1, 1}, {2, 3}, {3, 5}, {3, 5}} {
		if c := calls[i]; c.Turn != want.turn || c.Messages != want.messages || c.Model != "test.script" || len(c.SHA256) != 64 || c.At.IsZero() {
			t.Errorf("call %d is %+v", i, c)
		}
	}
	if calls[0].Previous != "" || calls[1].Previous != calls[0].SHA256 || calls[2].Previous != calls[1].SHA256 {
		t.Error("each call's previous must be the hash of the call before")
	}
	if calls[3].Previous == calls[1].SHA256 || calls[3].SHA256 == calls[2].SHA256 {
		t.Error("a changed prompt has the hash of the old one")
	}
}

func readJournal(t *testing.T, path string) []scripted.Call {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var calls []scripted.Call
	for line := range strings.Lines(string(text)) {
		var c scripted.Call
		if err := json.Unmarshal([]byte(line), &c); err != nil {
			t.Fatalf("line %q: %v", line, err)
		}
		calls = append(calls, c)
	}
	return calls
}
