package face_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/face/facetest"
)

// TestCompactionsAreNoItems checks a response that was created without the parameter
// context_management. A compaction during this response is neither an item of the response nor an
// item of its conversation.
func TestCompactionsAreNoItems(t *testing.T) {
	h := open(t)
	var conversation struct{ ID string }
	h.Call("POST", "./v1/conversations", `{}`).Want(200, &conversation)
	var response struct{ ID, Status string }
	h.Call("POST", "./v1/responses", `{"model":"scripted/m","input":"hi","background":true,"conversation":"`+conversation.ID+`"}`).Want(200, &response)
	r := h.Claim()
	asked := r.Say(facetest.UserText("hi"))
	r.Compact(perdure.CompactionRecord{Last: asked.ID, Reason: perdure.CompactionAutomatic}, "a secret summary")
	said := facetest.AssistantText("hello")
	said.StopReason = perdure.StopEndTurn
	r.Say(said)
	compacted := *r.Leaf
	r.Compact(perdure.CompactionRecord{Last: compacted, Reason: perdure.CompactionManual}, "another summary")
	r.Complete()
	type item struct {
		Type, Role string
		Content    []struct{ Text string }
	}
	lines := func(items []item) (all []string) {
		for _, i := range items {
			all = append(all, i.Type+" "+i.Role+" "+i.Content[0].Text)
		}
		return all
	}
	var whole struct {
		Status string
		Output []item
	}
	h.Call("GET", "./v1/responses/"+response.ID, "").Want(200, &whole)
	if diff := cmp.Diff([]string{"message assistant hello"}, lines(whole.Output)); diff != "" || whole.Status != "completed" {
		t.Errorf("%s: %s", whole.Status, diff)
	}
	for path, want := range map[string][]string{
		"./v1/responses/" + response.ID + "/input_items":                       {"message user hi"},
		"./v1/conversations/" + conversation.ID + "/items?order=asc&limit=100": {"message user hi", "message assistant hello"},
	} {
		var l struct{ Data []json.RawMessage }
		h.Call("GET", path, "").Want(200, &l)
		items := make([]item, len(l.Data))
		for i, raw := range l.Data {
			if err := json.Unmarshal(raw, &items[i]); err != nil {
				t.Fatal(err)
			}
		}
		if diff := cmp.Diff(want, lines(items)); diff != "" {
			t.Errorf("%s: %s", path, diff)
		}
	}
}
