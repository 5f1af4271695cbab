package openai_test

import (
	"context"
	"encoding/json"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/longtest"
	"github.com/perdure/perdure/llm"
)

// chatter is a client that stores the conversation itself.
type chatter struct {
	s       *stage
	members string
	keeps   func(item map[string]any) []map[string]any
	history []map[string]any
}

// says adds a message of the user to the conversation, and sends create requests with the whole
// conversation. After each response, it adds the output and the results of the client's calls,
// until a response has no such calls.
func (c *chatter) says(text string) object {
	c.s.t.Helper()
	c.history = append(c.history, map[string]any{"role": "user", "content": text})
	for {
		raw, err := json.Marshal(c.history)
		if err != nil {
			c.s.t.Fatal(err)
		}
		o := c.s.ask(c.members + `"input":` + string(raw)).object()
		for _, i := range itemsAsRaw(c.s.t, o) {
			c.history = append(c.history, c.keeps(i)...)
		}
		calls := o.calls()
		if len(calls) == 0 {
			return o
		}
		for _, call := range calls {
			c.history = append(c.history, map[string]any{"type": "function_call_output", "call_id": call.CallID, "output": "r " + call.Arguments})
		}
	}
}

// keeping has the ways in which existing clients store an item that they have received.
var keeping = map[string]func(i map[string]any) []map[string]any{
	"whole": func(i map[string]any) []map[string]any { return []map[string]any{i} },
	"references, and calls without id": func(i map[string]any) []map[string]any {
		if i["type"] == "function_call" {
			return without(i, "id", "status")
		}
		return []map[string]any{{"type": "item_reference", "id": i["id"]}}
	},
	"without ids, reasoning and calls of other servers": func(i map[string]any) []map[string]any {
		switch i["type"] {
		case "reasoning", "mcp_call":
			return nil
		case "message":
			content := i["content"].([]any)[0].(map[string]any)
			return []map[string]any{{"role": "assistant", "content": content["text"]}}
		}
		var arguments any
		if i["type"] == "function_call" && json.Unmarshal([]byte(i["arguments"].(string)), &arguments) == nil {
			raw, _ := json.MarshalIndent(arguments, "", "  ")
			i["arguments"] = string(raw)
		}
		return without(i, "id", "status")
	},
	"calls without ids and outputs": func(i map[string]any) []map[string]any {
		if i["type"] == "reasoning" {
			return []map[string]any{i}
		}
		return without(i, "id", "output", "error", "status")
	},
	"calls without their outputs": func(i map[string]any) []map[string]any { return without(i, "output", "status") },
}

func without(i map[string]any, names ...string) []map[string]any {
	i = maps.Clone(i)
	for _, name := range names {
		delete(i, name)
	}
	return []map[string]any{i}
}

// busyTurns returns the model's answers of n turns. They have reasoning, text, calls of tools that
// the client runs and calls of tools that workers run.
func busyTurns(n int) []answer {
	var all []answer
	for range n {
		all = append(all,
			thinks("hm", calls("I look. ", "grep", `{"pattern":"a"}`, "gone", `{ }`)),
			calls("I ask.", "ask", `{"b": 1.0, "a": "é"}`, "grep", `{"pattern":"b"}`, "ask", `{}`),
			thinks("so", says("Done.")))
	}
	return all
}

// TestAWholeHistoryGoesOnInPlace checks clients that send the whole conversation with each create
// request, and store its items in different forms. All requests of a client continue one execution,
// and each turn adds the same number of messages.
func TestAWholeHistoryGoesOnInPlace(t *testing.T) {
	longtest.Skip(t, "seconds")
	for name, keeps := range keeping {
		for _, store := range []string{"true", "false"} {
			if store == "false" && strings.HasPrefix(name, "references") {
				continue // an item that is not stored is not referred to
			}
			t.Run(name+", store "+store, func(t *testing.T) {
				s := newStage(t, busyTurns(4)...)
				s.asAgent("grep")
				c := chatter{s: s, members: `"store":` + store + `,` + tools + `,`, keeps: keeps}
				var execution uuid.UUID
				var sizes []int
				for i := range 4 {
					o := c.says("more " + strings.Repeat("x", i))
					if x := s.executionOf(o.ID); i > 0 && x != execution {
						t.Errorf("turn %d is in another run", i)
					} else {
						execution = x
					}
					sizes = append(sizes, len(s.path(o.ID)))
				}
				if n := s.executions(); n != 1 {
					t.Errorf("%d runs", n)
				}
				for i := 1; i < len(sizes); i++ {
					if sizes[i]-sizes[i-1] != sizes[0] {
						t.Errorf("the conversation has %v entries after each turn", sizes)
					}
				}
				all := s.model.asked()
				if diff := cmp.Diff(s.path(s.lastResponse)[:len(all[len(all)-1].Messages)], roles(all[len(all)-1].Messages)); diff != "" {
					t.Errorf("the model was given (-what is stored +got):\n%s", diff)
				}
			})
		}
	}
}

// TestACallWithoutAnID checks a call of a tool that a worker has run and that the client sends back
// without its id. The result of the call is the one that the client sends, or a text that says that
// the result is unknown.
func TestACallWithoutAnID(t *testing.T) {
	s := newStage(t, says("On."), says("On."))
	for output, want := range map[string]string{
		"":              "tool_result: The result of this call is not known any more.",
		`,"output":"7"`: "tool_result: 7",
	} {
		s.create(`"input":[` + asked + `,{"type":"mcp_call","server_label":"perdure","name":"grep","arguments":"{}"` + output + `},` + more + `]`).object()
		s.wantPrompt("user: look\nassistant: (grep)\n" + want + "\nuser: more")
	}
}

// path returns the conversation of a response's execution, one line per message.
func (s *stage) path(id string) []string {
	s.t.Helper()
	s.lastResponse = id
	x, err := s.store.Execution(s.t.Context(), "default", s.executionOf(id))
	if err != nil {
		s.t.Fatal(err)
	}
	var messages []perdure.Message
	for e, err := range s.store.Path(s.t.Context(), x.ID, *x.Leaf, nil, 0, false) {
		if err != nil {
			s.t.Fatal(err)
		}
		if m, err := e.Message(); err == nil {
			messages = append(messages, m)
		}
	}
	return roles(messages)
}

func roles(messages []perdure.Message) []string {
	var lines []string
	for _, m := range messages {
		raw, err := json.Marshal(m.Parts)
		if err != nil {
			panic(err)
		}
		lines = append(lines, string(m.Role)+" "+string(raw))
	}
	return lines
}

// TestWhatIsRepeatedSinceAResponseGoesOnInPlace checks a create request that names an earlier
// response and repeats the messages after it. It continues the same execution, and no message is
// stored twice.
func TestWhatIsRepeatedSinceAResponseGoesOnInPlace(t *testing.T) {
	s := newStage(t, says("Hello."), thinks("hm", calls("I look.", "grep", `{"pattern":"a"}`)), calls("I ask.", "ask", `{"a":1}`), says("Done."))
	s.asAgent("grep")
	first := s.ask(`"input":"hi"`).object()
	second := s.ask(after(first.ID) + `"input":"go",` + tools).object()
	var since []string
	for _, i := range itemsAsRaw(t, second) {
		if i["type"] == "reasoning" {
			continue // this client does not send the item back
		}
		reference := []map[string]any{{"type": "item_reference", "id": i["id"]}}
		if i["type"] == "function_call" {
			reference = without(i, "id", "status")
		}
		raw, err := json.Marshal(reference[0])
		if err != nil {
			t.Fatal(err)
		}
		since = append(since, string(raw))
	}
	since = append(since, `{"type":"function_call_output","call_id":"`+second.calls()[0].CallID+`","output":"9"}`)
	third := s.ask(after(first.ID) + `"input":[{"role":"user","content":"go"},` + strings.Join(since, ",") + `],` + tools).object()
	if third.text() != "Done." || s.executions() != 1 || third.Previous != first.ID {
		t.Errorf("%d runs, got %s", s.executions(), third.raw)
	}
	if n := len(s.path(third.ID)); n != 8 {
		t.Errorf("the conversation has %d messages: %s", n, strings.Join(s.path(third.ID), "\n"))
	}
}

// TestAnotherHistoryIsAnotherRun checks when a create request with a whole conversation starts a
// new execution: if its conversation, user, model or org differs from that of the earlier response,
// if this response was deleted or already continued, or if the request has an idempotency key.
func TestAnotherHistoryIsAnotherRun(t *testing.T) {
	longtest.Skip(t, "seconds")
	greet := `{"role":"user","content":"hi"},{"role":"assistant","content":"Hello."}`
	ask := func(input string) string { return `"input":[` + input + `,{"role":"user","content":"more"}]` }
	for name, c := range map[string]struct {
		members string
		runs    int
	}{
		"the same":              {ask(greet), 1},
		"other words":           {ask(strings.Replace(greet, "Hello.", "Hello!", 1)), 2},
		"another message":       {ask(strings.Replace(greet, "hi", "ho", 1)), 2},
		"another role":          {ask(strings.Replace(greet, "user", "developer", 1)), 2},
		"another message first": {ask(`{"role":"developer","content":"be kind"},` + greet), 2},
		"another user":          {`"user":"u",` + ask(greet), 2},
		"another person":        {`"safety_identifier":"p",` + ask(greet), 2},
		"half of it":            {`"input":[{"role":"user","content":"hi"}]`, 2},
		"a call in it": {ask(greet + `,{"type":"function_call","call_id":"c","name":"ask","arguments":"{}"},
			{"type":"function_call_output","call_id":"c","output":"r"}`), 2},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, says("Hello."), says("On."))
			s.create(`"input":"hi"`).object()
			s.create(c.members).object()
			if n := s.executions(); n != c.runs {
				t.Errorf("%d runs, want %d", n, c.runs)
			}
		})
	}
	t.Run("another model", func(t *testing.T) {
		s := newStage(t, says("Hello."), says("On."))
		s.create(`"input":"hi"`).object()
		s.call("POST", "/v1/responses", `{"model":"test/other",`+ask(greet)+`}`).object()
		if n := s.executions(); n != 2 {
			t.Errorf("%d runs", n)
		}
	})
	t.Run("another org", func(t *testing.T) {
		s := newStage(t, says("Hello."), says("On."))
		s.work("other")
		s.callAs("other", "POST", "/v1/responses", `{"model":"test/m","input":"hi"}`).object()
		s.create(ask(greet)).object()
		if n := s.executions(); n != 1 { // of this org
			t.Errorf("%d runs", n)
		}
	})
	t.Run("deleted", func(t *testing.T) {
		s := newStage(t, says("Hello."), says("On."))
		s.call("DELETE", "/v1/responses/"+s.create(`"input":"hi"`).object().ID, "")
		s.create(ask(greet)).object()
		if n := s.executions(); n != 2 {
			t.Errorf("%d runs", n)
		}
	})
	t.Run("gone on already", func(t *testing.T) {
		s := newStage(t, says("Hello."), says("On."))
		s.create(`"input":"hi"`).object()
		s.create(ask(greet)).object()
		s.create(ask(greet)).object() // a client that wants another answer to the same conversation
		if n := s.executions(); n != 2 {
			t.Errorf("%d runs", n)
		}
	})
	t.Run("keyed", func(t *testing.T) {
		s := newStage(t, says("Hello."), says("On."))
		s.create(`"input":"hi"`).object()
		body := `{"model":"test/m",` + ask(greet) + `}`
		if a, b := s.keyed("k", body).object(), s.keyed("k", body).object(); a.ID != b.ID || s.executions() != 2 {
			t.Errorf("%s and %s in %d runs", a.ID, b.ID, s.executions())
		}
	})
	t.Run("other calls of tools that ran here", func(t *testing.T) {
		patterns := make(chan string, 2)
		patterns <- "a"
		patterns <- "b"
		look := func(ctx context.Context, req llm.Request, b *llm.Builder) (perdure.StopReason, error) {
			return calls("I look.", "grep", `{"pattern":"`+<-patterns+`"}`)(ctx, req, b)
		}
		s := newStage(t, look, says("Done."), says("More."))
		s.asAgent("grep")
		for _, o := range []object{s.ask(`"input":"look"`).object(), s.ask(`"input":"look"`).object()} {
			next := s.ask(asInput(t, asked, itemsAsRaw(t, o), more)).object()
			if got, want := s.executionOf(next.ID), s.executionOf(o.ID); got != want {
				t.Errorf("the history of %s went on in %s", want, got)
			}
		}
	})
}

// executionOf returns the execution of a response.
func (s *stage) executionOf(id string) uuid.UUID {
	s.t.Helper()
	row, err := s.store.Response(s.t.Context(), "default", id)
	if err != nil {
		s.t.Fatal(err)
	}
	return row.Execution
}

// TestTwoAtOnceWithOneHistory checks that four concurrent create requests with the same
// conversation become four executions, each with an answer.
func TestTwoAtOnceWithOneHistory(t *testing.T) {
	s := newStage(t, says("Hello."), says("On."))
	s.create(`"input":"hi"`).object()
	body := `{"model":"test/m","input":[{"role":"user","content":"hi"},{"role":"assistant","content":"Hello."},{"role":"user","content":"more"}]}`
	answers := make(chan reply, 4)
	for range cap(answers) {
		go func() { answers <- s.call("POST", "/v1/responses", body) }()
	}
	ids := map[string]bool{}
	for range cap(answers) {
		o := (<-answers).object()
		if o.text() != "On." {
			t.Errorf("got %s", o.raw)
		}
		ids[o.ID] = true
	}
	if len(ids) != cap(answers) || s.executions() != cap(answers) {
		t.Errorf("%d responses in %d runs", len(ids), s.executions())
	}
}
