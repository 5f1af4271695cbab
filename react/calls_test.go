package react

import (
	"encoding/json"
	"iter"
	"testing"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/llm"
)

// storedTurn returns a stored model call whose conversation has two messages.
func storedTurn(t *testing.T, system string, tools []perdure.ToolInfo) perdure.StoredCall {
	t.Helper()
	var path []perdure.Entry
	for _, m := range []perdure.Message{
		perdure.UserText("one"), {Role: perdure.RoleAssistant, Content: perdure.Content{Parts: []perdure.Part{perdure.Text("two")}}}, perdure.UserText("three"),
	} {
		e, err := perdure.NewMessageEntry(m)
		if err != nil {
			t.Fatal(err)
		}
		if len(path) > 0 {
			e.ParentID = &path[len(path)-1].ID
		}
		path = append(path, e)
	}
	in := modelRequest{Model: perdure.ModelConfig{Provider: "p", ModelID: "m"}, LeafEntryID: path[2].ID, EntryID: uuid.New()}
	input, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	settings, err := json.Marshal(perdure.ReactInput{SystemPrompt: system, Tools: []string{"look"}})
	if err != nil {
		t.Fatal(err)
	}
	return perdure.StoredCall{
		Task: &perdure.Task{ID: uuid.New(), Kind: perdure.ModelTaskKind, Input: input, Status: perdure.TaskCompleted}, Input: settings, Tools: tools,
		ContextPath: func(uuid.UUID) iter.Seq2[perdure.Entry, error] {
			return func(yield func(perdure.Entry, error) bool) {
				for _, e := range path {
					if !yield(e, nil) {
						return
					}
				}
			}
		},
	}
}

// TestRebuiltCallsSayWhetherTheyMatch checks that a rebuilt prompt matches the recorded hash if and
// only if no part of the prompt has changed.
func TestRebuiltCallsSayWhetherTheyMatch(t *testing.T) {
	calls := Calls{Providers: llm.NewProviders()}
	look := []perdure.ToolInfo{{Name: "look", Description: "Looks.", InputSchema: json.RawMessage(`{"type":"object"}`)}, {Name: "other"}}
	first := storedTurn(t, "Be brief.", look)
	_, request, err := calls.request(first)
	if err != nil {
		t.Fatal(err)
	}
	prompt, err := llm.PromptOf(request)
	if err != nil {
		t.Fatal(err)
	}
	result, err := json.Marshal(modelAnswer{Content: perdure.Content{Parts: []perdure.Part{perdure.Text("four")}}, Prompt: &prompt, LatencyMs: 7, Cost: &llm.Cost{Total: 1}})
	if err != nil {
		t.Fatal(err)
	}
	changed := []perdure.ToolInfo{{Name: "look", Description: "Looks closely.", InputSchema: json.RawMessage(`{"type":"object"}`)}}
	for name, c := range map[string]struct {
		edit    func(*perdure.StoredCall)
		matches bool
	}{
		"nothing changed":            {func(*perdure.StoredCall) {}, true},
		"a tool that it has changed": {func(s *perdure.StoredCall) { s.Tools = changed }, false},
		"a tool is gone":             {func(s *perdure.StoredCall) { s.Tools = nil }, false},
		"another tool changed":       {func(s *perdure.StoredCall) { s.Tools = s.Tools[:1] }, true},
		"the system prompt changed":  {func(s *perdure.StoredCall) { s.Input = json.RawMessage(`{"systemPrompt":"","tools":["look"]}`) }, false},
		"the conversation changed": {func(s *perdure.StoredCall) {
			whole := s.ContextPath
			s.ContextPath = func(leaf uuid.UUID) iter.Seq2[perdure.Entry, error] {
				return func(yield func(perdure.Entry, error) bool) {
					for e, err := range whole(leaf) {
						if e.Role != perdure.RoleAssistant && !yield(e, err) {
							return
						}
					}
				}
			}
		}, false},
	} {
		s := first
		task := *s.Task
		task.Result = result
		s.Task = &task
		c.edit(&s)
		m, err := calls.Rebuild(s)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if m.Prompt == nil || m.Prompt.Matches != c.matches || m.Prompt.SHA256 != prompt.SHA256 || (m.Prompt.Shown == prompt.SHA256) != c.matches {
			t.Errorf("%s: %+v", name, m.Prompt)
		}
		if m.Answer.PlainText() != "four" || m.LatencyMs != 7 || m.Cost.Total != 1 || m.Purpose != perdure.CallTurn {
			t.Errorf("%s: %+v", name, m)
		}
	}
}

// TestRebuiltCallsOfOtherPurposes checks that calls for summaries and calls of Generate are rebuilt
// with their purpose and without a comparison of prompts. The error is invalid_argument for an
// unknown provider, and not_found for a task that is no model call.
func TestRebuiltCallsOfOtherPurposes(t *testing.T) {
	var calls Calls
	for purpose, edit := range map[string]func(*modelRequest){
		perdure.CallCompaction: func(r *modelRequest) { r.Compaction = &compactionRequest{Last: r.LeafEntryID, MaxTokens: 9} },
		perdure.CallGenerate: func(r *modelRequest) {
			r.Generate = &generation{System: "s", MaxTokens: 9, Messages: []perdure.InputMessage{{Role: perdure.RoleUser, Parts: []perdure.Part{perdure.Text("x")}}}}
		},
	} {
		s := storedTurn(t, "Be brief.", nil)
		var in modelRequest
		if err := json.Unmarshal(s.Task.Input, &in); err != nil {
			t.Fatal(err)
		}
		edit(&in)
		var err error
		if s.Task.Input, err = json.Marshal(in); err != nil {
			t.Fatal(err)
		}
		m, err := calls.Rebuild(s)
		if err != nil || m.Purpose != purpose || m.Parameters.MaxTokens != 9 || m.Prompt != nil || m.Answer != nil || len(m.Messages) == 0 {
			t.Errorf("%s: %+v, %v", purpose, m, err)
		}
	}
	s := storedTurn(t, "", nil)
	if _, err := calls.Body(t.Context(), s, ""); !perdure.IsCode(err, perdure.InvalidArgument) {
		t.Errorf("the body for a provider that is not known: %v", err)
	}
	s.Task.Kind = "work"
	if _, err := calls.Rebuild(s); !perdure.IsCode(err, perdure.NotFound) {
		t.Errorf("a task that is no model call: %v", err)
	}
}
