package main

import (
	"encoding/json"
	"os/exec"
	"strings"
	"testing"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/llm/llmtest"
)

// TestModelCallsAreShownAsTheyWereSent checks, for each provider, that perdure show --as prints the
// body that a server of the provider got, byte by byte, and that the rebuilt prompt has the recorded
// hash.
func TestModelCallsAreShownAsTheyWereSent(t *testing.T) {
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
