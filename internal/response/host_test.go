package response_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/response"
)

// stamped passes the updates to a Host and returns the stamped updates. It checks that each of
// these has the host's response id.
func stamped(t *testing.T, updates ...response.Update) []response.Update {
	t.Helper()
	h := response.NewHost(host)
	var all []response.Update
	for _, u := range updates {
		all = append(all, h.Stamp(u)...)
	}
	for i, u := range all {
		if u.ResponseID != host.Response {
			t.Errorf("update %d has the response id %q", i, u.ResponseID)
		}
		if response.IsPlaceholder(u.MessageID) || response.IsPlaceholder(u.ProviderResponseID) {
			t.Errorf("a placeholder is left in %+v", u)
		}
	}
	return all
}

func TestHostingExecutor_AssignsSingleResponseId_WhenAgentProvidesNone(t *testing.T) {
	all := stamped(t, said("", "", "a"), said("", "", "b"), response.Update{FinishReason: perdure.StopEndTurn})
	r := response.Merge(host, all)
	wantLines(t, r, "ab")
	unique(t, r)
	if r.ID != host.Response || r.ProviderResponseIDs != nil || r.FinishReason != perdure.StopEndTurn {
		t.Errorf("the response is %+v", r)
	}
	again := stamped(t, said("", "", "a"), said("", "", "b"), response.Update{FinishReason: perdure.StopEndTurn})
	if diff := cmp.Diff(all, again); diff != "" {
		t.Errorf("played again it has other ids:\n%s", diff)
	}
}

func TestHostingExecutor_PreservesAgentResponseId_WhenProvided(t *testing.T) {
	all := stamped(t, said("chatcmpl-1", "m", "a"), said("chatcmpl-1", "m", "b"))
	for _, u := range all {
		if u.ProviderResponseID != "chatcmpl-1" || u.MessageID != "m" {
			t.Errorf("the update is stamped %q %q", u.ProviderResponseID, u.MessageID)
		}
	}
	if r := response.Merge(host, all); r.ID != host.Response || r.Messages[0].ProviderResponseID != "chatcmpl-1" {
		t.Errorf("the response is %+v", r)
	}
}

func TestHostingExecutor_RejectsMultipleResponseIds_InSingleTurn(t *testing.T) {
	r := response.Merge(host, stamped(t,
		said("one", "m", "a"), said("", "m", "b"), said("__fake_id__", "m", "c"), said("two", "m", "d"), said("two", "", "e"),
	))
	wantLines(t, r, "abc", "d", "e")
	unique(t, r)
	if diff := cmp.Diff([]string{"one", "two"}, r.ProviderResponseIDs); diff != "" || r.ID != host.Response {
		t.Errorf("response %q of the providers' (-want +got):\n%s", r.ID, diff)
	}
}

func TestHostingExecutor_HandoffScenario_MaintainsMessageCoherence(t *testing.T) {
	first, second, back := run("a", "1"), run("b", "2"), run("a", "3")
	r := response.Merge(host, stamped(t,
		said("x", "m", "A", first), said("x", "m", "", first, with(response.Call("h", "handoff", "{}"))),
		result("x", "m", "h", "to b"),
		said("y", "m", "B1 ", second), said("x", "m", "A late", first), said("y", "m", "B2", second),
		said("z", "m", "back", back),
	))
	wantLines(t, r, "A h=handoff{}", "h:to b", "A late", "B1 B2", "back")
	unique(t, r)
}

func TestHostSplitsAnUpdateOfSeveralMessages(t *testing.T) {
	usage := &perdure.Usage{Input: 1}
	u := said("p", "m", "", with(response.Text("a"), response.Call("c", "f", "{}"), response.Result("c", "1"), response.Text("b")))
	u.Usage, u.FinishReason = usage, perdure.StopEndTurn
	all := stamped(t, u)
	if len(all) != 3 || all[0].Usage != nil || all[2].Usage != usage || all[1].Role != perdure.RoleAssistant {
		t.Fatalf("it becomes %+v", all)
	}
	r := response.Merge(host, all)
	wantLines(t, r, "a c=f{}", "c:1", "b")
	unique(t, r)
	if diff := cmp.Diff(usage, r.Usage); diff != "" {
		t.Errorf("usage (-want +got):\n%s", diff)
	}
}

// TestHostStampsWhatIsSaidOfAMessage checks an update without contents about a message that is
// already closed. The stamped update gets the id of that message.
func TestHostStampsWhatIsSaidOfAMessage(t *testing.T) {
	all := stamped(t, said("p", "__fake_id__", "a"), response.Update{ResponseID: "p", MessageID: "__fake_id__", FinishReason: perdure.StopEndTurn}, response.Update{FinishReason: perdure.StopEndTurn})
	if all[0].MessageID == "" || all[1].MessageID != all[0].MessageID || all[2].MessageID != "" {
		t.Errorf("the ids are %q, %q and %q", all[0].MessageID, all[1].MessageID, all[2].MessageID)
	}
}

// TestHostStampsOnce checks that an update does not change when it is stamped a second time.
func TestHostStampsOnce(t *testing.T) {
	u := said("p", fake, "a", func(u *response.Update) { u.Properties = map[string]json.RawMessage{"k": json.RawMessage("1")} })
	u.FinishReason = perdure.StopEndTurn
	all := stamped(t, u, said("p", "", "b"), result("p", "", "c", "1"))
	if diff := cmp.Diff(all, stamped(t, all...)); diff != "" {
		t.Errorf("stamped again (-once +again):\n%s", diff)
	}
	if r := response.Merge(host, all); r.Messages[0].Properties == nil || r.FinishReason != perdure.StopEndTurn {
		t.Errorf("the response lost something: %+v", r)
	}
	own := stamped(t, said(host.Response, "m", "a"))
	if own[0].ProviderResponseID != "" {
		t.Errorf("the host's own id is the provider's %q", own[0].ProviderResponseID)
	}
}
