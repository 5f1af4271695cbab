package llm_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"image"
	"image/png"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/longtest"
	"github.com/perdure/perdure/llm"
	"github.com/perdure/perdure/llm/llmtest"
)

func text(role perdure.Role, words string) perdure.Message {
	return message(role, []perdure.Part{perdure.Text(words)})
}

// madeBy returns an answer of a model of the provider. If the parameter `call` is not empty, the
// answer calls the tool with that name.
func madeBy(provider, words, call string) perdure.Message {
	m := text(perdure.RoleAssistant, words)
	m.Provider, m.Model, m.StopReason = provider, "m", perdure.StopEndTurn
	if call != "" {
		m.Parts = append(m.Parts, perdure.Part{Type: perdure.PartToolCall, ID: "c_" + words, Name: call, RawArguments: "{}"})
	}
	return m
}

// TestTheUserSpeaksOnEveryWire checks where Outward inserts user messages with ContinueText: before
// an assistant message at the beginning, and after an assistant message that was the last message
// of a prompt. It checks the requests of all providers.
func TestTheUserSpeaksOnEveryWire(t *testing.T) {
	const cont = "user: " + llm.ContinueText
	signed := text(perdure.RoleAssistant, "A") // a client sent it, with its provider's signatures
	signed.Provider = "p"
	system, user, given := text(perdure.RoleSystem, "S"), text(perdure.RoleUser, "U"), text(perdure.RoleAssistant, "A")
	for name, c := range map[string]struct {
		path []perdure.Message
		want []string
	}{
		"nothing":                  {nil, []string{cont}},
		"the system alone":         {[]perdure.Message{system}, []string{"system: S", cont}},
		"an assistant alone":       {[]perdure.Message{given}, []string{cont, "assistant: A", cont}},
		"ends with the assistant":  {[]perdure.Message{user, given}, []string{"user: U", "assistant: A", cont}},
		"a round without a user":   {[]perdure.Message{madeBy("p", "M", "f"), llmtest.Result("c_M", "f")}, []string{cont, "assistant: M", "tool_result: "}},
		"ends with the user":       {[]perdure.Message{user, given, user}, []string{"user: U", "assistant: A", "user: U"}},
		"ends with a blank system": {[]perdure.Message{user, given, text(perdure.RoleSystem, " ")}, []string{"user: U", "assistant: A", cont}},
		"a model went on":          {[]perdure.Message{user, given, madeBy("p", "M", "")}, []string{"user: U", "assistant: A", cont, "assistant: M", cont}},
		"given with signatures":    {[]perdure.Message{user, signed, madeBy("p", "M", "")}, []string{"user: U", "assistant: A", cont, "assistant: M", cont}},
		"neighbours":               {[]perdure.Message{user, madeBy("p", "M", ""), madeBy("p", "N", ""), user}, []string{"user: U", "assistant: M", "assistant: N", "user: U"}},
	} {
		var got []string
		for _, m := range llm.Outward(llm.Request{Messages: c.path}, llm.OutwardRules{Provider: "p"}).Messages {
			got = append(got, string(m.Role)+": "+m.PlainText())
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	for _, r := range remotes {
		p, server := r.Serve(t, llmtest.Answer{Text: []string{"ok"}, Usage: perdure.Usage{Output: 1}})
		for _, path := range [][]perdure.Message{nil, {system}, {given}, {user, given}} {
			// The fake server checks each request against the rules of its API.
			llmtest.Ask(t, p, llm.Request{Model: r.Model, Messages: path})
		}
		for i, got := range server.Requests() {
			if n := bytes.Count(got.Raw, []byte(`"`+llm.ContinueText+`"`)); n != []int{1, 1, 2, 1}[i] {
				t.Errorf("%s: path %d has the message %d times: %s", p.Name(), i, n, got.Raw)
			}
		}
	}
}

// TestACompactionIsAUserMessageOnEveryWire checks that each provider receives a compaction as a
// user's text with SummaryPrefix, even if another user message is next to it. The native block of a
// compaction is not sent.
func TestACompactionIsAUserMessageOnEveryWire(t *testing.T) {
	summary := perdure.Compaction("goal: a \"b\"")
	summary.Native = json.RawMessage(`{"sealed":"block"}`)
	compacted := message(perdure.RoleUser, []perdure.Part{summary})
	compacted.Provider = "anthropic"
	want, err := json.Marshal(perdure.SummaryPrefix + summary.Text)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range remotes {
		p, server := r.Serve(t, llmtest.Answer{Text: []string{"ok"}, Usage: perdure.Usage{Output: 1}})
		user := text(perdure.RoleUser, "U")
		for _, path := range [][]perdure.Message{{compacted}, {user, compacted}, {compacted, user}, {compacted, madeBy("p", "M", "f"), llmtest.Result("c_M", "f")}} {
			llmtest.Ask(t, p, llm.Request{Model: r.Model, Messages: path}) // the server checks the request
		}
		for i, got := range server.Requests() {
			if bytes.Count(got.Raw, want) != 1 || bytes.Contains(got.Raw, []byte("sealed")) || bytes.Contains(got.Raw, []byte(llm.ContinueText)) {
				t.Errorf("%s: path %d went out as %s", p.Name(), i, got.Raw)
			}
		}
	}
	if compacted.Parts[0].Type != perdure.PartCompaction {
		t.Error("the stored message was changed")
	}
}

// TestOutwardPathsOnlyGrow checks that when a conversation grows, the messages that Outward returns
// begin with those that it returned for the shorter conversation.
func TestOutwardPathsOnlyGrow(t *testing.T) {
	path := []perdure.Message{
		text(perdure.RoleSystem, "S"), text(perdure.RoleAssistant, "given"), // a request ends here
		madeBy("p", "M", "odd name"), llmtest.Result("c_M", "odd name", perdure.Part{Type: "video"}), // a request ends here
		madeBy("p", "N", ""), text(perdure.RoleUser, "U"), // a request ends here
	}
	var before []string
	for _, n := range []int{2, 4, 6} {
		var now []string
		for _, m := range llm.Outward(llm.Request{Messages: path[:n]}, llm.OutwardRules{Provider: "openai"}).Messages {
			raw, err := json.Marshal(m)
			if err != nil {
				t.Fatal(err)
			}
			now = append(now, string(raw))
		}
		if len(now) <= len(before) || !slices.Equal(before, now[:len(before)]) {
			t.Errorf("after %d messages it is\n%s\nand was\n%s", n, strings.Join(now, "\n"), strings.Join(before, "\n"))
		}
		before = now
	}
}

// TestImagesTooLargeForAProviderAreToldAsText checks that Anthropic's requests have a text in place
// of an image of 8 MiB. Requests to the other providers contain the image. The stored messages are
// unchanged.
func TestImagesTooLargeForAProviderAreToldAsText(t *testing.T) {
	longtest.Skip(t, "seconds")
	var picture bytes.Buffer
	if err := png.Encode(&picture, image.NewGray(image.Rect(0, 0, 1, 1))); err != nil {
		t.Fatal(err)
	}
	picture.Write(make([]byte, 8<<20)) // bytes after the image's end
	large := perdure.Part{Type: perdure.PartImage, MimeType: "image/png", Data: base64.StdEncoding.EncodeToString(picture.Bytes())}
	path := []perdure.Message{
		message(perdure.RoleUser, []perdure.Part{large}),
		madeBy("p", "M", "f"), llmtest.Result("c_M", "f", large),
	}
	for _, r := range remotes {
		p, server := r.Serve(t, llmtest.Answer{Text: []string{"ok"}, Usage: perdure.Usage{Output: 1}})
		llmtest.Ask(t, p, llm.Request{Model: r.Model, Messages: path})
		raw := server.Requests()[0].Raw
		want := 2
		if p.Name() == "anthropic" {
			want = 0
		}
		if n := bytes.Count(raw, []byte("iVBORw0KGgo")); n != want || bytes.Contains(raw, []byte("too large")) != (want == 0) {
			t.Errorf("%s got %d images, want %d", p.Name(), n, want)
		}
	}
	if path[0].Parts[0].Type != perdure.PartImage || path[2].Parts[0].Parts[0].Type != perdure.PartImage {
		t.Error("the stored messages were changed")
	}
}
