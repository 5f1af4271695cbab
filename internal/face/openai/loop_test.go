package openai_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/perdure/perdure/internal/longtest"
)

// turn creates one response of a tool loop. It checks that the output is the same in the response,
// in streams and in the reply to a retrieve request. It returns this output.
func (s *stage) turn(members string, stream bool) (string, []json.RawMessage) {
	s.t.Helper()
	var o object
	if stream {
		events := s.all("POST", "/v1/responses", `{"model":"test/m","stream":true,`+members+`}`)
		o = responseOf(s.t, events[len(events)-1])
	} else {
		o = s.create(members).object()
	}
	again := s.call("GET", "/v1/responses/"+o.ID, "").object()
	events := s.all("GET", "/v1/responses/"+o.ID+"?stream=true", "")
	last := responseOf(s.t, events[len(events)-1])
	output := outputOf(s.t, o)
	if got := outputOf(s.t, again); fmt.Sprint(got) != fmt.Sprint(output) {
		s.t.Errorf("retrieved output %s, created %s", got, output)
	}
	if got := outputOf(s.t, last); fmt.Sprint(got) != fmt.Sprint(output) {
		s.t.Errorf("streamed output %s, created %s", got, output)
	}
	added := 0
	for _, e := range events {
		if e.Type == "response.output_item.added" {
			added++
		}
	}
	if added != len(output) {
		s.t.Errorf("%d items are added in the stream, %d are in the response", added, len(output))
	}
	return o.ID, output
}

func outputOf(t *testing.T, o object) []json.RawMessage {
	t.Helper()
	var all struct{ Output []json.RawMessage }
	if err := json.Unmarshal(o.raw, &all); err != nil {
		t.Fatal(err)
	}
	return all.Output
}

// resultsOf returns a result for each call among the items.
func resultsOf(t *testing.T, items []json.RawMessage) []string {
	t.Helper()
	var results []string
	for _, raw := range items {
		var i item
		if err := json.Unmarshal(raw, &i); err != nil {
			t.Fatal(err)
		}
		if i.Type == "function_call" {
			results = append(results, `{"type":"function_call_output","call_id":"`+i.CallID+`","output":"r"}`)
		}
	}
	return results
}

const loopTurns = 10

func loopAnswers() []answer {
	var all []answer
	for range 4 * loopTurns {
		all = append(all, thinks("hm", calls("I ask.", "ask", `{"a":1}`, "ask", `{"a":2}`)))
	}
	return all
}

const wantItems = "reasoning message function_call function_call"

func typesOf(t *testing.T, items []json.RawMessage) string {
	t.Helper()
	var types []string
	for _, raw := range items {
		var i item
		if err := json.Unmarshal(raw, &i); err != nil {
			t.Fatal(err)
		}
		types = append(types, i.Type)
	}
	return strings.Join(types, " ")
}

// TestAStatelessLoopGetsTheSameItemsEachTurn checks a client that stores the conversation itself
// and sends back all items that it has received. These items become input of the next response, and
// do not appear in its output.
func TestAStatelessLoopGetsTheSameItemsEachTurn(t *testing.T) {
	longtest.Skip(t, "seconds")
	for name, stream := range map[string]bool{"plain": false, "streamed": true} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, loopAnswers()...)
			input := []string{`{"role":"user","content":"go"}`}
			for turn := range loopTurns {
				_, items := s.turn(`"store":true,"input":[`+strings.Join(input, ",")+`],`+tools, stream)
				if got := typesOf(t, items); got != wantItems {
					t.Fatalf("turn %d: the output is %s, want %s", turn, got, wantItems)
				}
				for _, raw := range items {
					input = append(input, string(raw))
				}
				input = append(input, resultsOf(t, items)...)
			}
		})
	}
}

// TestAStatefulLoopGetsTheSameItemsEachTurn checks a client that continues by previous_response_id.
// It sends only the results of calls, or the results together with assistant messages. What it
// sends does not appear in the output, not even after the conversation was copied to a new
// execution.
func TestAStatefulLoopGetsTheSameItemsEachTurn(t *testing.T) {
	longtest.Skip(t, "seconds")
	for name, stream := range map[string]bool{"plain": false, "streamed": true} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, loopAnswers()...)
			previous, input := "", []string{`{"role":"user","content":"go"}`}
			branch := ""
			for turn := range loopTurns {
				id, items := s.turn(previous+`"input":[`+strings.Join(input, ",")+`],`+tools, stream)
				if got := typesOf(t, items); got != wantItems {
					t.Fatalf("turn %d: the output is %s, want %s", turn, got, wantItems)
				}
				previous, input = after(id), resultsOf(t, items)
				if turn == 2 {
					branch = after(id) + `"input":[` + strings.Join(input, ",") + `],` + tools
				}
				if turn%2 == 1 {
					input = append(input, `{"type":"message","role":"assistant","content":[{"type":"output_text","text":"given","annotations":[]}]}`, `{"role":"user","content":"on"}`)
				}
			}
			_, items := s.turn(branch, stream)
			if got := typesOf(t, items); got != wantItems {
				t.Errorf("in a branch: the output is %s, want %s", got, wantItems)
			}
		})
	}
}
