package openai_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/perdure/perdure/internal/longtest"
)

// offered returns the tool names and the tool choice that the model received in the given call.
func (s *stage) offered(call int) (names []string, choice string) {
	s.t.Helper()
	all := s.model.asked()
	if call >= len(all) {
		s.t.Fatalf("the model was called %d times", len(all))
	}
	for _, t := range all[call].Tools {
		names = append(names, t.Name)
	}
	return names, all[call].ToolChoice
}

// TestMaxToolCalls checks model calls after max_tool_calls tool calls. The tool choice is then
// "none". But if the client has tools, the model is offered only these tools, and none that workers
// run.
func TestMaxToolCalls(t *testing.T) {
	longtest.Skip(t, "seconds")
	find := []string{"find", `{"pattern":"*"}`}
	for name, c := range map[string]struct{ members, offered, choice string }{
		"tools of Perdure": {"", "find grep", "none"},
		"and the client's": {tools + ",", "ask", ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, calls("One.", find...), calls("More.", append(find, find...)...), says("Done."))
			s.asAgent("find", "grep")
			o := s.ask(c.members + `"input":"a","max_tool_calls":2`).object()
			var shown []string
			for _, i := range o.Output {
				if i.Type == "mcp_call" {
					shown = append(shown, i.Status)
				}
			}
			if got := strings.Join(shown, " "); got != "completed completed failed" || o.Status != "completed" || !strings.HasSuffix(o.text(), "Done.") {
				t.Errorf("calls are %s: %s", got, o.raw)
			}
			if names, choice := s.offered(1); !slices.Contains(names, "find") || choice != "" {
				t.Errorf("after one call the model was offered %v, with choice %q", names, choice)
			}
			if names, choice := s.offered(2); strings.Join(names, " ") != c.offered || choice != c.choice {
				t.Errorf("after the last call the model was offered %v with choice %q, want %s with %q", names, choice, c.offered, c.choice)
			}
			s.ask(after(o.ID) + c.members + `"input":"b"`).object()
			if names, choice := s.offered(len(s.model.asked()) - 1); !slices.Contains(names, "find") || choice != "" {
				t.Errorf("the next response was offered %v with choice %q", names, choice)
			}
		})
	}
}

// TestAllowedToolsNarrowWhatIsOffered checks that the model is offered only the tools in
// allowed_tools, in all turns of the response, whether the client or a worker runs them. If the
// model calls another tool, the call is neither run nor sent to the client.
func TestAllowedToolsNarrowWhatIsOffered(t *testing.T) {
	longtest.Skip(t, "seconds")
	allowed := func(mode, list string) string {
		return `"input":"a",` + oneTool + `,"tool_choice":{"type":"allowed_tools","mode":"` + mode + `","tools":[` + list + `]}`
	}
	const here, one = `{"type":"mcp","server_label":"perdure"}`, `{"type":"mcp","server_label":"perdure","name":"grep"}`
	for members, want := range map[string]string{
		allowed("auto", here):                                           "find grep",
		allowed("required", one):                                        "grep",
		allowed("auto", one+`,{"type":"function","name":"g"}`):          "grep g",
		allowed("required", `{"type":"function","name":"g"}`):           "g",
		allowed("auto", here+`,`+one+`,{"type":"function","name":"f"}`): "find grep f",
	} {
		s := newStage(t, calls("One.", "read-file", `{"path":"x"}`), says("Done."))
		s.asAgent("find", "grep")
		s.ask(members).object()
		for turn, choice := range []string{"required", ""} {
			if !strings.Contains(members, `"required"`) {
				choice = ""
			}
			if names, got := s.offered(turn); strings.Join(names, " ") != want || got != choice {
				t.Errorf("%s: turn %d was offered %v with choice %q, want %s with %q", members, turn, names, got, want, choice)
			}
		}
	}
	s := newStage(t, calls("One.", "f", `{}`), says("Done."))
	s.asAgent("find", "grep")
	if o := s.ask(allowed("auto", one)).object(); len(o.calls()) != 0 || !strings.HasSuffix(o.text(), "Done.") {
		t.Errorf("a call of a tool that is not offered: %s", o.raw)
	}
	s.ask(allowed("auto", `{"type":"mcp","server_label":"perdure","name":"bash"}`)).refused(400, "tool_choice", "invalid_value")
	s.ask(`"input":"a","tool_choice":"required"`).object() // the agent has tools
	s.create(`"input":"a","tool_choice":"required"`).refused(400, "tool_choice", "invalid_value")
}
