package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/longtest"
	"github.com/perdure/perdure/llm/llmtest"
)

// TestModelCallsAreShownAsTheyWereSent checks model calls of each provider. perdure show --as must
// print, byte by byte, the body that the provider's server received. The prompt that the server
// rebuilds for the command must have the recorded hash.
func TestModelCallsAreShownAsTheyWereSent(t *testing.T) {
	longtest.Skip(t, "seconds")
	for provider, c := range map[string]struct {
		wire            llmtest.Wire
		base, path, key string
		model           string
	}{
		"anthropic":        {llmtest.Anthropic, "ANTHROPIC_BASE_URL", "", "ANTHROPIC_API_KEY", "claude-sonnet-4-5"},
		"openai":           {llmtest.OpenAI, "OPENAI_BASE_URL", "/v1", "OPENAI_API_KEY", "gpt-4o"},
		"openai-responses": {llmtest.OpenAIResponses, "OPENAI_BASE_URL", "/v1", "OPENAI_API_KEY", "gpt-5"},
		"gemini":           {llmtest.Gemini, "GOOGLE_GEMINI_BASE_URL", "", "GEMINI_API_KEY", "gemini-3-pro-preview"},
	} {
		t.Run(provider, func(t *testing.T) {
			t.Parallel()
			server := llmtest.NewServer(t, c.wire,
				llmtest.Answer{Calls: []llmtest.Call{{ID: "1", Name: "read-file", Arguments: `{"path":"a.txt"}`}}},
				llmtest.Answer{Text: []string{"It says <&> ä."}})
			dir := t.TempDir()
			write(t, dir, "a.txt", "<&> ä 😀")
			env := []string{c.base + "=" + server.URL + c.path, c.key + "=" + llmtest.Secret}
			launchWith(t, dir, env, "run", "--model", provider+"/"+c.model, "--system", "Be brief & exact.", "--tools", "read-file,bash", "What is in a.txt?").wantEnd(0)
			sent := server.Requests()
			if len(sent) != 2 {
				t.Fatalf("%d requests were sent", len(sent))
			}
			printed := func(args ...string) string {
				t.Helper()
				cmd := exec.Command("perdure", append([]string{"show", "last"}, args...)...)
				cmd.Dir, cmd.Env = dir, append(clean(dir), env...)
				out, err := cmd.Output()
				if err != nil {
					t.Fatalf("%v: %s", err, err.(*exec.ExitError).Stderr)
				}
				return strings.TrimSuffix(string(out), "\n")
			}
			var run struct{ Tasks []struct{ ID, Kind string } }
			if err := json.Unmarshal([]byte(printed("--json")), &run); err != nil {
				t.Fatal(err)
			}
			at := 0
			for _, task := range run.Tasks {
				if task.Kind != "llm-request" {
					continue
				}
				if body := printed("--call", task.ID, "--as", provider); body != string(sent[at].Raw) || strings.Contains(body, llmtest.Secret) {
					t.Errorf("the body of call %d is\n%s\nand was sent as\n%s", at, body, sent[at].Raw)
				}
				at++
			}
			if at != 2 {
				t.Fatalf("the run has %d model calls: %+v", at, run.Tasks)
			}
			var m client.ModelCall
			if err := json.Unmarshal([]byte(printed("--call", "last", "--json")), &m); err != nil {
				t.Fatal(err)
			}
			if m.Prompt == nil || !m.Prompt.Matches || m.Answer == nil || m.Answer.PlainText() != "It says <&> ä." || m.Model.ModelID != c.model || len(m.Tools) != 2 || len(m.Messages) != 3 || !strings.Contains(m.SystemPrompt, "Be brief") {
				t.Errorf("the call: %+v, %+v", m, m.Prompt)
			}
			if said := printed("--call", "last"); !strings.Contains(said, "as sent") || !strings.Contains(said, "Be brief & exact.") {
				t.Errorf("show --call: %s", said)
			}
		})
	}
}

// TestInspectedCallsAroundACompaction checks that the server rebuilds the model calls before and
// after a compaction, and the call for its summary. It checks which messages of the conversation
// each call leaves out, and which requests the server refuses.
func TestInspectedCallsAroundACompaction(t *testing.T) {
	longtest.Skip(t, "seconds")
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "scripts"), 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "scripts"), "s", "summary\n  text ## Goal\n  text Counting.\nturn\n  text "+strings.Repeat("One and ", 500)+"\nturn\n  text Two.\nturn\n  text Three.\n")
	d := serveDev(t, dir, "--scripts", filepath.Join(dir, "scripts"))
	c := d.dial()
	ctx := t.Context()
	x, err := c.Start(ctx, client.StartRequest{UserPrompt: "Count.", Models: []perdure.ModelConfig{{Provider: "scripted", ModelID: "s"}}})
	if err != nil {
		t.Fatal(err)
	}
	waits := func(calls int) (ids []uuid.UUID) {
		t.Helper()
		for _, err := range c.Follow(ctx, x.ID, "") {
			if err != nil {
				t.Fatal(err)
			}
			ids = nil
			for task, err := range c.Tasks(ctx, x.ID) {
				if err != nil {
					t.Fatal(err)
				}
				if task.Kind == perdure.ModelTaskKind && task.Status == perdure.TaskCompleted {
					ids = append(ids, task.ID)
				}
			}
			now, err := c.Get(ctx, x.ID)
			if err != nil {
				t.Fatal(err)
			}
			if now.Status == perdure.StatusWaiting && len(ids) == calls {
				return ids
			}
		}
		t.Fatal("the log has ended")
		return nil
	}
	say := func(name, value string) {
		t.Helper()
		if _, err := c.Signal(ctx, x.ID, client.SignalRequest{Name: name, Value: json.RawMessage(value)}); err != nil {
			t.Fatal(err)
		}
	}
	waits(1)
	say(perdure.UserMessage, `{"text":"Go on."}`)
	waits(2)
	say(perdure.CompactSignal, `{}`)
	waits(3)
	say(perdure.UserMessage, `{"text":"And on."}`)
	ids := waits(4)
	for i, want := range []struct {
		purpose           string
		messages, leftOut int
		matches           bool
	}{{perdure.CallTurn, 1, 0, true}, {perdure.CallTurn, 3, 0, true}, {perdure.CallCompaction, 0, 0, false}, {perdure.CallTurn, 0, 1, true}} {
		m, err := c.ModelCall(ctx, x.ID, ids[i])
		if err != nil {
			t.Fatal(err)
		}
		if m.Purpose != want.purpose || want.messages > 0 && len(m.Messages) != want.messages || (len(m.LeftOut) > 0) != (want.leftOut > 0) ||
			(m.Prompt != nil && m.Prompt.Matches) != want.matches || m.Answer == nil {
			t.Errorf("call %d: %+v, %+v", i, m, m.Prompt)
		}
	}
	at := "/agent-executions/" + x.ID.String() + "/calls/"
	d.ask("GET", at+uuid.NewString(), "", 404)
	d.ask("GET", at+"x", "", 404)
	d.ask("GET", at+ids[0].String()+"?cursor=7", "", 400)
	d.ask("GET", at+ids[0].String()+"/request", "", 400) // the scripted provider has no API, so there is no request
	d.ask("GET", at+ids[0].String()+"/request?as=nobody", "", 400)
	if body := d.ask("GET", at+ids[2].String()+"/request?as=gemini", "", 200); !strings.Contains(string(body), "## Goal") {
		t.Errorf("the request for the summary: %s", body)
	}
	local, err := c.Start(ctx, client.StartRequest{UserPrompt: "Count.", Models: []perdure.ModelConfig{{Provider: "scripted", ModelID: "s"}}, PersistenceMode: perdure.Local})
	if err != nil {
		t.Fatal(err)
	}
	x = local
	kept := waits(1)
	d.ask("GET", "/agent-executions/"+local.ID.String()+"/calls/"+kept[0].String(), "", 409)
	d.ask("GET", "/agent-executions/"+local.ID.String()+"/calls/"+ids[0].String(), "", 404)
}
