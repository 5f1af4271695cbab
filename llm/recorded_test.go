package llm_test

import (
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.yaml.in/yaml/v4"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/llm"
	"github.com/perdure/perdure/llm/llmtest"
)

// recording is the part of a file of recorded calls that the test uses. These files are test data
// of the module charm.land/fantasy.
type recording struct {
	Interactions []struct {
		Request  struct{ URL string }
		Response struct {
			Body    string
			Headers map[string][]string
			Code    int
		}
	}
}

// recordings returns the folder of the recorded streams in the module cache.
// tools/recordings/go.mod pins the version and the checksum of the module with the streams.
func recordings(t *testing.T) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "mod", "download", "-json", "charm.land/fantasy")
	cmd.Dir = filepath.Join("..", "tools", "recordings")
	cmd.Env = append(os.Environ(), "GOWORK=off")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("the recordings cannot be had: %v\n%s", err, out)
	}
	var module struct{ Dir string }
	if err := json.Unmarshal(out, &module); err != nil || module.Dir == "" {
		t.Fatalf("go mod download said %s", out)
	}
	return filepath.Join(module.Dir, "providertests", "testdata")
}

// speakers recognizes which of the four APIs a recorded call used.
var speakers = []struct {
	remote int
	url    *regexp.Regexp
	read   func([]string) said
}{
	{0, regexp.MustCompile(`/v1/messages$|:streamRawPredict$`), readAnthropic},
	{1, regexp.MustCompile(`/chat/completions$`), readChat},
	{2, regexp.MustCompile(`/responses$`), readResponses},
	{3, regexp.MustCompile(`:streamGenerateContent\?alt=sse$`), readGemini},
}

// said is the content of a recorded stream, which this test parses without the code of the
// providers.
type said struct {
	Text, Thinking string
	Signatures     []string
	Calls          []saidCall
	Usage          perdure.Usage
	Stop           perdure.StopReason
}

type saidCall struct{ ID, Name, Arguments string }

// TestRecordedStreams replays recorded streams of real servers. The response of a provider must
// have the content that this test parses from the stream: text, reasoning, signatures, tool calls,
// usage and stop reason. Each answer is then sent to every provider, and fake servers check these
// requests.
func TestRecordedStreams(t *testing.T) {
	count := make([]int, len(remotes))
	var next []llm.Provider
	for _, r := range remotes {
		p, _ := r.Serve(t, llmtest.Answer{Text: []string{"ok"}, Usage: perdure.Usage{Output: 1}})
		next = append(next, p)
	}
	dir := recordings(t)
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".yaml" {
			return err
		}
		raw, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		var r recording
		if err := yaml.Unmarshal(raw, &r); err != nil {
			return err
		}
		name, err := filepath.Rel(dir, path)
		t.Run(strings.TrimSuffix(filepath.ToSlash(name), ".yaml"), func(t *testing.T) {
			for _, i := range r.Interactions {
				if i.Response.Code != 200 || !strings.HasPrefix(strings.Join(i.Response.Headers["Content-Type"], ""), "text/event-stream") {
					continue
				}
				for _, s := range speakers {
					if s.url.MatchString(i.Request.URL) {
						count[s.remote]++
						resp := foldRecorded(t, remotes[s.remote], i.Response.Body, s.read(dataLines(i.Response.Body)))
						goOn(t, next, resp)
					}
				}
			}
		})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("streams by wire: %v", count)
	for i, least := range []int{20, 150, 35, 40} {
		if count[i] < least {
			t.Errorf("only %d streams of wire %d were found", count[i], i)
		}
	}
}

func foldRecorded(t *testing.T, r llmtest.Remote, stream string, want said) *llm.Response {
	t.Helper()
	p, _ := r.Serve(t, llmtest.Answer{Stream: stream})
	resp, deltas := llmtest.Ask(t, p, llm.Request{Model: r.Model, Messages: []perdure.Message{perdure.UserText("hi")}})
	got := said{Text: resp.PlainText(), Usage: *resp.Usage, Stop: resp.StopReason}
	for _, part := range resp.Parts {
		got.Thinking += part.Thinking
		for _, signature := range []string{part.TextSignature, part.ThinkingSignature} {
			if signature != "" && p.Name() != "openai" {
				got.Signatures = append(got.Signatures, signature)
			}
		}
	}
	for _, call := range resp.ToolCalls() {
		got.Calls = append(got.Calls, saidCall{call.ProviderID, call.Name, string(call.Arguments)})
	}
	ignored := cmpopts.IgnoreFields(perdure.Usage{}, "TotalTokens", "Cost", "Calls")
	if diff := cmp.Diff(want, got, ignored); diff != "" {
		t.Errorf("%s (-said +folded):\n%s\n%s", p.Name(), diff, stream)
	}
	if diff := cmp.Diff(resp.PlainText(), perdure.Content{Parts: llm.Fold(deltas)}.PlainText()); diff != "" {
		t.Errorf("%s (-returned +streamed):\n%s", p.Name(), diff)
	}
	return resp
}

// goOn continues the conversation with every provider: the request contains the answer, results of
// its tool calls and another user message. Fake servers check the requests against the rules of
// their APIs.
func goOn(t *testing.T, providers []llm.Provider, resp *llm.Response) {
	t.Helper()
	messages := append([]perdure.Message{perdure.UserText("hi")}, llmtest.Answered(resp, "done")...)
	messages = append(messages, perdure.UserText("and?"))
	for i, p := range providers {
		llmtest.Ask(t, p, llm.Request{Model: remotes[i].Model, Messages: messages})
	}
}

func dataLines(stream string) []string {
	var lines []string
	for line := range strings.Lines(stream) {
		if data, ok := strings.CutPrefix(strings.TrimSpace(line), "data:"); ok && strings.TrimSpace(data) != "[DONE]" {
			lines = append(lines, strings.TrimSpace(data))
		}
	}
	return lines
}
