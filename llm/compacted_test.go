package llm_test

import (
	"bytes"
	"encoding/json"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/longtest"
	"github.com/perdure/perdure/llm"
	"github.com/perdure/perdure/llm/llmtest"
)

// contextMessages returns the context of a path, and the messages that a model sees.
func contextMessages(t *rapid.T, path []perdure.Entry) (c perdure.Context, messages []perdure.Message) {
	c, err := perdure.ContextOf(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range c.Entries {
		m, err := e.Message()
		if err != nil {
			t.Fatal(err)
		}
		messages = append(messages, m)
	}
	return c, messages
}

// asStored returns the path after encoding and decoding, as a process reads it from the store.
func asStored(t *rapid.T, path []perdure.Entry) (again []perdure.Entry) {
	raw, err := json.Marshal(path)
	if err == nil {
		err = json.Unmarshal(raw, &again)
	}
	if err != nil {
		t.Fatal(err)
	}
	return again
}

// TestAnyCompactedConversationIsAccepted checks the contexts of random conversations with
// compactions, several models, thinking, parallel calls and images. Each context follows the rules
// of CheckMessages, and each request follows the rules of its provider's API. A second attempt,
// which reads the path again, sends the same bytes. The thinking of a message that a compaction has
// rewritten is not sent, but the signatures of the message's calls are sent to Gemini.
func TestAnyCompactedConversationIsAccepted(t *testing.T) {
	longtest.Checks(t, 100, 2000)
	var all []*compactedSender
	for _, r := range remotes {
		p, server := r.Serve(t, llmtest.Answer{Text: []string{"ok"}, Usage: perdure.Usage{Output: 1}})
		all = append(all, &compactedSender{Provider: p, remote: r, server: server})
	}
	missing := func(s *compactedSender) bool { return !s.sawAll() }
	for round := 0; round == 0 || round < 20 && slices.ContainsFunc(all, missing); round++ { // one hundred conversations may lack a case that sawAll requires
		rapid.Check(t, func(t *rapid.T) {
			path := drawCompactedPath(t)
			thinking := rapid.SampledFrom([]llm.Thinking{llm.ThinkingOff, llm.ThinkingHigh}).Draw(t, "thinking")
			for _, s := range all {
				s.check(t, path, thinking)
			}
		})
	}
	for _, s := range all {
		if !s.sawAll() {
			t.Errorf("%s: %d rewritten messages with thinking of its model, %d others, %d signatures of rewritten calls", s.Name(), s.rewritten, s.unchanged, s.signatures)
		}
	}
}

// compactedSender sends requests to a fake server, which stores them. The field `unchanged` counts
// the pieces of thinking that were sent. The fields `rewritten` and `signatures` concern messages
// that the sender's own model made and that a compaction has rewritten. They count the pieces of
// thinking and the signatures of calls in these messages.
type compactedSender struct {
	llm.Provider
	remote                           llmtest.Remote
	server                           *llmtest.Server
	rewritten, unchanged, signatures int
}

func (s *compactedSender) sawAll() bool {
	if s.Name() == "gemini" { // accepts no thinking, only signatures
		return s.rewritten > 0 && s.signatures > 0
	}
	return s.rewritten > 0 && s.unchanged > 0
}

func (s *compactedSender) check(t *rapid.T, path *compactedPath, thinking llm.Thinking) {
	var bodies [][]byte
	var seen perdure.Context
	for _, entries := range [][]perdure.Entry{path.entries, asStored(t, path.entries)} {
		c, messages := contextMessages(t, entries)
		if err := llm.CheckMessages(s, messages); err != nil {
			t.Fatalf("%s: %v", s.Name(), err)
		}
		bodies, seen = append(bodies, s.sent(t, messages, thinking)), c
	}
	if !bytes.Equal(bodies[0], bodies[1]) {
		t.Fatalf("%s: the second attempt differs:\n%s\n%s", s.Name(), bodies[0], bodies[1])
	}
	if err := s.remote.Wire.Check(bodies[0]); err != nil {
		t.Fatalf("%s would refuse: %v\n%s", s.Name(), err, bodies[0])
	}
	s.checkThinking(t, path, seen, bodies[0])
}

// sent returns the body of the request with these messages.
func (s *compactedSender) sent(t *rapid.T, messages []perdure.Message, thinking llm.Thinking) []byte {
	before := len(s.server.Requests())
	request := llm.Request{Model: s.remote.Model, Thinking: thinking, Messages: messages, Tools: offered}
	if _, _, err := llmtest.TryAsk(t.Context(), s, request); err != nil {
		t.Fatalf("%s: %v", s.Name(), err)
	}
	return s.server.Requests()[before].Raw
}

// checkThinking checks that a request contains no thinking of a rewritten message, and none of an
// entry that is not in the context. A request to Gemini must contain the signatures of calls in
// rewritten messages, if the model of the request has made the calls.
func (s *compactedSender) checkThinking(t *rapid.T, path *compactedPath, c perdure.Context, body []byte) {
	own := llm.Model{Provider: s.Name(), ID: s.remote.Model}
	for id, thoughts := range path.thoughts {
		i := slices.IndexFunc(c.Entries, func(e perdure.ContextEntry) bool { return e.Entry.ID == id })
		if i >= 0 && !c.Entries[i].Rewritten {
			s.unchanged += len(present(thoughts, body))
			continue
		}
		if sent := present(thoughts, body); len(sent) > 0 {
			t.Fatalf("%s: thinking %q of a rewritten message is sent:\n%s", s.Name(), sent, body)
		}
		if i < 0 || path.makers[id] != own {
			continue
		}
		s.rewritten += len(thoughts)
		signed := path.signed[id]
		if s.signatures += len(signed); s.Name() == "gemini" && len(present(signed, body)) < len(signed) {
			t.Fatalf("the signatures %q of rewritten calls are not sent:\n%s", signed, body)
		}
	}
}

// present returns the secrets that occur in a request.
func present(secrets []string, body []byte) (found []string) {
	for _, secret := range secrets {
		if secret != "" && secret != "reasoning_content" && bytes.Contains(body, []byte(secret)) {
			found = append(found, secret)
		}
	}
	return found
}
