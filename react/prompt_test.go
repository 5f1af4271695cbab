package react_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"slices"
	"testing"

	"github.com/google/uuid"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/internal/longtest"
	"github.com/perdure/perdure/llm"
	"github.com/perdure/perdure/llm/anthropic"
	"github.com/perdure/perdure/llm/llmtest"
	"github.com/perdure/perdure/react"
)

// prompts returns the prompt records of an execution's model calls, in order.
func (s *workerPool) prompts(id uuid.UUID) (all []prompt) {
	s.t.Helper()
	entries, err := s.store.AllEntries(s.t.Context(), id, "", 100)
	if err != nil {
		s.t.Fatal(err)
	}
	for _, e := range entries.Items {
		if e.Type != perdure.EntryLLMCall {
			continue
		}
		var record struct{ Prompt prompt }
		if err := json.Unmarshal(e.Metadata, &record); err != nil {
			s.t.Fatal(err)
		}
		all = append(all, record.Prompt)
	}
	return all
}

type prompt struct {
	llm.Prompt
	Changed       bool
	Change        *llm.PromptChange
	Compaction    *uuid.UUID
	Touches       *int
	PreviousModel string
	Settings      bool
}

// TestPrefixChangesAreRecorded checks that, while a conversation grows, the Prefix of each prompt
// is the hash of the previous prompt, even if another worker made the previous call. A worker that
// describes a tool differently than the previous worker causes one recorded change.
func TestPrefixChangesAreRecorded(t *testing.T) {
	s := emptyWorkerPool(t, "turn\n  call find {\"pattern\": \"*\"}\nturn\n  text One.\nturn\n  text Two.\nturn\n  text Three.\nturn\n  text Four.\n")
	counters := &react.Counters{}
	counted := func(c *workerSetup) { c.Counters = counters }
	retold := func(c *workerSetup) {
		c.Tools = slices.Clone(c.Tools)
		c.Tools[0].Description += " Now better."
	}
	stop := s.work(100, counted)
	id := s.start(engine.StartRequest{UserPrompt: "go"})
	x := s.idle(id, 0)
	next := func(text string, change ...func(*workerSetup)) {
		stop()
		stop = s.work(100, change...)
		s.say(id, text)
		x = s.idle(id, x.CheckpointSeq)
	}
	next("again", counted)
	if n := counters.PrefixChanges.Load(); n != 0 {
		t.Errorf("%d changes are counted where there is none", n)
	}
	next("and again", counted, retold)
	next("once more", counted, retold)
	if n := counters.PrefixChanges.Load(); n != 1 {
		t.Errorf("%d changes are counted, want 1", n)
	}
	all := s.prompts(id)
	if len(all) != 5 {
		t.Fatalf("%d calls are recorded", len(all))
	}
	for i, p := range all {
		if p.Changed != (i == 3) || len(p.SHA256) != 64 || p.Messages != []int{1, 3, 5, 7, 9}[i] {
			t.Errorf("call %d: %+v", i, p)
		}
		if i > 0 && i != 3 && p.Prefix != all[i-1].SHA256 {
			t.Errorf("the prefix of call %d is %s, the prompt before %s", i, p.Prefix, all[i-1].SHA256)
		}
	}
}

// TestRequestBytesAreTheSameOnEveryWorker checks that the provider receives the same bytes for the
// same path, also in a retry, in a call by another worker, and in another execution.
func TestRequestBytesAreTheSameOnEveryWorker(t *testing.T) {
	longtest.Skip(t, "seconds")
	remote := llmtest.Remote{
		Wire: llmtest.Anthropic, Model: "claude-sonnet-4-5", BaseEnv: "ANTHROPIC_BASE_URL", KeyEnv: "ANTHROPIC_API_KEY",
		New: func(e *llm.Endpoints, c *http.Client) llm.Provider {
			return anthropic.New(anthropic.Config{Endpoints: e, Client: c})
		},
	}
	calls := llmtest.Answer{
		Thinking: "hm", Signature: "c2ln", Text: []string{"Looking."}, Usage: perdure.Usage{Output: 1},
		Calls: []llmtest.Call{{ID: "toolu_1", Name: "find", Arguments: `{"pattern":"*"}`}, {ID: "toolu_2", Name: "nothing", Arguments: `{"z":1,"a":2}`}},
	}
	busy, done := llmtest.Answer{Status: 529}, llmtest.Answer{Text: []string{"Done."}, Usage: perdure.Usage{Output: 1}}
	provider, server := remote.Serve(t, busy, calls, busy, done, calls, done)
	s := emptyWorkerPool(t, "")
	with := func(c *workerSetup) { c.Providers = llm.NewProviders(provider) }
	stop := s.work(100, with)
	start := func() uuid.UUID {
		return s.start(engine.StartRequest{
			UserPrompt: "go", OneShot: true, Models: []perdure.ModelConfig{{Provider: "anthropic", ModelID: remote.Model}},
			Config: perdure.AgentConfig{Thinking: "low"},
		})
	}
	id := start()
	s.until(id, func(*perdure.Execution) bool { return len(server.Requests()) >= 1 })
	stop() // after that, another worker makes the call
	stop = s.work(100, with)
	s.until(id, func(*perdure.Execution) bool { return len(server.Requests()) >= 3 })
	stop()
	s.work(100, with)
	s.completed(id)
	s.completed(start())
	got := server.Requests()
	if len(got) != 6 {
		t.Fatalf("%d calls were made", len(got))
	}
	for _, pair := range [][2]int{{0, 1}, {2, 3}, {0, 4}, {2, 5}} {
		if a, b := got[pair[0]].Raw, got[pair[1]].Raw; !bytes.Equal(a, b) {
			t.Errorf("calls %d and %d differ:\n%s\n%s", pair[0], pair[1], a, b)
		}
	}
	for _, p := range s.prompts(id) {
		if p.Changed {
			t.Errorf("a change is recorded where there is none: %+v", p)
		}
	}
}
