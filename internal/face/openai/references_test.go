package openai_test

import (
	"encoding/json"
	"maps"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/longtest"
)

// asAgent creates a definition with the slug "agent", with tools that workers run.
func (s *stage) asAgent(tools ...string) {
	s.t.Helper()
	if _, err := s.engine.Definitions.Create(s.t.Context(), "default", perdure.Definition{
		Name: "A", Slug: "agent", Models: []perdure.ModelConfig{{Provider: "test", ModelID: "m"}}, Tools: tools,
	}); err != nil {
		s.t.Fatal(err)
	}
}

func (s *stage) ask(members string) reply {
	s.t.Helper()
	return s.call("POST", "/v1/responses", `{"model":"agent",`+members+`}`)
}

// itemsAsRaw returns the items of a response's output as received.
func itemsAsRaw(t *testing.T, o object) []map[string]any {
	t.Helper()
	var v struct{ Output []map[string]any }
	if err := json.Unmarshal(o.raw, &v); err != nil {
		t.Fatal(err)
	}
	return v.Output
}

func asInput(t *testing.T, before string, items []map[string]any, after string) string {
	t.Helper()
	all := []string{before}
	for _, i := range items {
		raw, err := json.Marshal(i)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, string(raw))
	}
	return `"input":[` + strings.Join(append(all, after), ",") + `]`
}

// forms returns the forms in which clients send back the items that they have received.
func forms(items []map[string]any) map[string][]map[string]any {
	forms := map[string][]map[string]any{"whole": items}
	for _, i := range items {
		reference, cut := map[string]any{"type": "item_reference", "id": i["id"]}, maps.Clone(i)
		delete(cut, "output")
		delete(cut, "error")
		forms["without output"] = append(forms["without output"], cut)
		forms["references"] = append(forms["references"], reference)
		if i["type"] == "mcp_call" {
			forms["calls referred to"] = append(forms["calls referred to"], reference)
		} else {
			forms["calls referred to"] = append(forms["calls referred to"], i)
		}
	}
	return forms
}

const (
	asked = `{"role":"user","content":"look"}`
	more  = `{"role":"user","content":"more"}`
)

// TestCallsOfToolsThatRanHereComeBack checks clients that send back calls of tools that workers
// have run, in different forms. The model always receives the same calls and results.
func TestCallsOfToolsThatRanHereComeBack(t *testing.T) {
	longtest.Skip(t, "seconds")
	for _, store := range []string{"true", "false"} {
		t.Run("store "+store, func(t *testing.T) {
			s := newStage(t, calls("I look.", "grep", `{"pattern":"a"}`, "gone", `{}`), calls("Again.", "grep", `{"pattern":"b"}`), says("Done."), says("More."))
			s.asAgent("grep")
			first := s.ask(`"store":` + store + `,"input":"look"`).object()
			var kinds []string
			for _, i := range first.Output {
				kinds = append(kinds, i.Type+" "+i.Status)
			}
			if got := strings.Join(kinds, ", "); got != "message completed, mcp_call completed, mcp_call failed, message completed, mcp_call completed, message completed" {
				t.Errorf("the output has %s", got)
			}
			row, err := s.store.Response(t.Context(), "default", first.ID)
			if err != nil {
				t.Fatal(err)
			}
			x, err := s.store.Execution(t.Context(), "default", row.Execution)
			if err != nil {
				t.Fatal(err)
			}
			var path []perdure.Message
			for e, err := range s.store.Path(t.Context(), row.Execution, *x.Leaf, nil, 0, false) {
				if err != nil {
					t.Fatal(err)
				}
				if m, err := e.Message(); err == nil && e.Type == perdure.EntryMessage {
					path = append(path, perdure.Message{Role: m.Role, Content: perdure.Content{Parts: m.Parts}})
				}
			}
			path = append(path, perdure.Message{Role: perdure.RoleUser, Content: perdure.Content{Parts: []perdure.Part{perdure.Text("more")}}})
			want, err := json.MarshalIndent(path, "", " ")
			if err != nil {
				t.Fatal(err)
			}
			for name, form := range forms(itemsAsRaw(t, first)) {
				if store == "false" && name != "whole" && name != "without output" {
					continue // an item that is not stored cannot be referred to
				}
				t.Run(name, func(t *testing.T) {
					o := s.ask(`"store":` + store + `,` + asInput(t, asked, form, more)).object()
					if o.text() != "More." || len(o.Output) != 1 {
						t.Errorf("got %s", o.raw)
					}
					var got []perdure.Message
					all := s.model.asked()
					for _, m := range all[len(all)-1].Messages {
						got = append(got, perdure.Message{Role: m.Role, Content: perdure.Content{Parts: m.Parts}})
					}
					raw, err := json.MarshalIndent(got, "", " ")
					if err != nil {
						t.Fatal(err)
					}
					if diff := cmp.Diff(string(want), string(raw)); diff != "" {
						t.Errorf("the model was given (-what was stored +got):\n%s", diff)
					}
				})
			}
		})
	}
}

// TestItemsThatAreNotFound checks that an item is found only in its own org. It is not found if its
// response was deleted, or was created with "store": false.
func TestItemsThatAreNotFound(t *testing.T) {
	s := newStage(t, calls("I look.", "grep", `{"pattern":"a"}`), says("Done."))
	s.asAgent("grep")
	first := s.ask(`"input":"look"`).object()
	secret := s.ask(`"store":false,"input":"look"`).object()
	deleted := s.ask(`"input":"look"`).object()
	s.call("DELETE", "/v1/responses/"+deleted.ID, "")
	reference := func(id string) string { return `{"type":"item_reference","id":"` + id + `"}` }
	whole := func(id string) string {
		return `{"type":"mcp_call","id":"` + id + `","server_label":"perdure","name":"grep","arguments":"{}","output":"forged"}`
	}
	call, text := first.Output[1].ID, first.Output[0].ID
	for name, item := range map[string]string{
		"made up": reference("mcp_none"), "whole and made up": whole("mcp_" + strings.Repeat("a", 24) + "o0"),
		"of another type": whole(text), "under another type": reference("msg" + strings.TrimPrefix(call, "mcp")),
		"behind the end": reference(strings.Replace(call, "o1", "o99", 1)), "an input's": reference(strings.Replace(call, "o1", "i1", 1)),
		"not stored": reference(secret.Output[0].ID), "a call not stored": reference(secret.Output[1].ID),
		"deleted": reference(deleted.Output[1].ID), "whole and deleted": whole(deleted.Output[1].ID),
	} {
		t.Run(name, func(t *testing.T) {
			message := s.ask(`"input":[`+asked+`,`+item+`,`+more+`]`).refused(400, "input[1].id", "item_not_found")
			var v struct{ ID string }
			if err := json.Unmarshal([]byte(item), &v); err != nil || !strings.Contains(message, v.ID) {
				t.Errorf("%q does not name %s", message, v.ID)
			}
		})
	}
	s.ask(`"input":[{"type":"item_reference"}]`).refused(400, "input[0].id", "missing_required_parameter")
	s.ask(`"input":[{"type":"mcp_call","name":"grep"}]`).refused(400, "input[0].arguments", "missing_required_parameter")
	n := len(s.model.asked())
	s.work("other")
	for _, item := range []string{reference(call), whole(call)} {
		body := `{"model":"test/m","input":[` + asked + `,` + item + `]}`
		s.callAs("other", "POST", "/v1/responses", body).refused(400, "input[1].id", "item_not_found")
	}
	if len(s.model.asked()) != n {
		t.Error("a refused create asked the model")
	}
}

// TestACutItemIsIncomplete checks that an answer that is cut off becomes an incomplete item of an
// incomplete response.
func TestACutItemIsIncomplete(t *testing.T) {
	s := newStage(t, stops(thinks("hm", says("Hel")), perdure.StopMaxTokens))
	o := s.create(`"input":"hi"`).object()
	if o.Status != "incomplete" || len(o.Output) != 2 || o.Output[1].Status != "incomplete" || o.Output[1].Content[0].Text != "Hel" {
		t.Errorf("got %s", o.raw)
	}
	whole := s.all("GET", "/v1/responses/"+o.ID+"?stream=true", "")
	done := slices.IndexFunc(whole, func(e event) bool {
		return e.Type == "response.output_item.done" && strings.Contains(e.Raw, `"msg_`)
	})
	if done < 0 || !strings.Contains(whole[done].Raw, `"status":"incomplete"`) {
		t.Error("the stream shows the item as whole")
	}
}

// TestItemsThatAnInputRefersToAreBounded checks the limit of the total size of the items that one
// input refers to. Such an input has only short ids, but the items may be large. The limit is
// applied before the items are joined to messages. The input of a response is read only once for
// all of its items.
func TestItemsThatAnInputRefersToAreBounded(t *testing.T) {
	longtest.Skip(t, "seconds")
	s := newStage(t, says(strings.Repeat("y", 1<<20)))
	first := s.create(`"input":"` + strings.Repeat("x", 1<<20) + `"`).object()
	for side, id := range map[string]string{"input": s.call("GET", "/v1/responses/"+first.ID+"/input_items", "").list().Data[0].ID, "output": first.Output[0].ID} {
		reference := `{"type":"item_reference","id":"` + id + `"},`
		input := `"input":[` + strings.Repeat(reference, 100) + asked + `]`
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		s.call("POST", "/v1/responses", `{"model":"test/m",`+input+`}`).refused(413, "", "payload_too_large")
		runtime.ReadMemStats(&after)
		if got := (after.TotalAlloc - before.TotalAlloc) >> 20; got > 600 {
			t.Errorf("%s: 100 references to an item of 1 MiB took %d MiB of memory", side, got)
		}
	}
}

// TestItemIDsWithANegativeIndexAreUnknown checks that the error for an id with a negative index is
// that for an unknown id.
func TestItemIDsWithANegativeIndexAreUnknown(t *testing.T) {
	s := newStage(t, says("Hi."))
	known := s.create(`"input":"x"`).object().Output[0].ID
	forged := strings.TrimSuffix(known, "0") + "-1"
	reference := func(id string) string { return `{"type":"item_reference","id":"` + id + `"}` }
	s.create(`"input":[`+reference(known)+`,`+reference(forged)+`]`).refused(400, "input[1].id", "item_not_found")
	s.create(`"input":[{"type":"mcp_call","id":"`+strings.Replace(forged, "msg_", "mcp_", 1)+`"}]`).refused(400, "input[0].id", "item_not_found")

	// A message with content is not looked up by its id, so a forged id in such a message is
	// accepted.
	s.create(`"input":[` + reference(known) + `,{"type":"message","role":"assistant","content":"b","id":"` + forged + `"},` + asked + `]`).object()

	conversation := s.conversationOf(`{"items":[` + asked + `]}`)
	pending := s.items(conversation).Data[0].ID
	s.create(`"input":[`+reference(strings.TrimSuffix(pending, "0")+"-1")+`]`).refused(400, "input[0].id", "item_not_found")
}
