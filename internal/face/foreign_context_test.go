package face_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// otherOrgClient is a client with a key of another org.
type otherOrgClient struct {
	*testServer
	key string
}

func (h *testServer) guest() otherOrgClient {
	h.T.Helper()
	if _, err := h.Engine.CreateOrg(h.T.Context(), "other"); err != nil {
		h.T.Fatal(err)
	}
	_, err := h.Engine.Dispatch("other", false).Register(h.T.Context(), perdure.Registration{
		WorkerID: uuid.New(), Queues: []string{"default"}, Agents: []perdure.KindSpec{{Kind: perdure.ReactKind, Providers: []string{"scripted"}}},
	})
	if err != nil {
		h.T.Fatal(err)
	}
	_, secret, err := h.Engine.CreateKey(h.T.Context(), "other", "guest", perdure.KeyClient)
	if err != nil {
		h.T.Fatal(err)
	}
	return otherOrgClient{h, secret}
}

// in sends a request with the client's key to a path of the given org.
func (g otherOrgClient) in(org, method, path, body string) reply {
	g.T.Helper()
	return g.Call(method, "./api/orgs/"+org+path, body, "Authorization", "Bearer "+g.key)
}

// TestContextsOfOtherOrgsAreUnknown checks that a client gets the same errors for a run of another
// org as for a run that does not exist. This holds for requests that read the run's context and for
// requests that compact it, with inline and with uploaded values, whichever org the path names.
func TestContextsOfOtherOrgsAreUnknown(t *testing.T) {
	h := open(t)
	r := h.begin()
	said := converse(r, 1, 3)
	r.Compact(perdure.CompactionRecord{Last: said[3].ID, KeepFrom: &said[4].ID, Reason: perdure.CompactionManual}, "secret")
	next := h.context(r.ID, "?limit=1").NextCursor
	var c struct{ BlobID uuid.UUID }
	h.Call("PUT", h.Path(r.ID, "/content"), `{"instructions":"a"}`).Want(200, &c)
	g, unknown := h.guest(), uuid.New()
	for _, request := range [][3]string{
		{"GET", "/context", ""},
		{"GET", "/context?limit=1", ""},
		{"GET", "/context?limit=1&cursor=" + *next, ""},
		{"POST", "/compact", ""},
		{"POST", "/compact", `{"instructions":"a"}`},
		{"POST", "/signal", fmt.Sprintf(`{"signalName":%q}`, perdure.CompactSignal)},
		{"POST", "/signal", fmt.Sprintf(`{"signalName":%q,"signalValueRef":{"blobId":%q}}`, perdure.CompactSignal, c.BlobID)},
		{"PUT", "/content", `{"instructions":"a"}`},
	} {
		for _, org := range []string{"other", "default"} {
			theirs := g.in(org, request[0], h.Path(r.ID, request[1]), request[2])
			none := g.in(org, request[0], h.Path(unknown, request[1]), request[2])
			same := strings.ReplaceAll(string(theirs.Body), r.ID.String(), unknown.String()) == string(none.Body)
			if theirs.Status != none.Status || !same || theirs.Status != 404 {
				t.Errorf("%s %s in %s gives %d %s, of an unknown run %d %s", request[0], request[1], org, theirs.Status, theirs.Body, none.Status, none.Body)
			}
			if strings.Contains(string(theirs.Body), "secret") {
				t.Errorf("%s %s in %s shows the summary: %s", request[0], request[1], org, theirs.Body)
			}
		}
	}
	if got := h.compactSignals(r.ID); len(got) != 0 {
		t.Errorf("the run has the signals %q", got)
	}
}

// TestACompactionDoesNotReferToAnotherOrg checks that a signal to a run of the client's own org
// cannot refer to a content that belongs to another org.
func TestACompactionDoesNotReferToAnotherOrg(t *testing.T) {
	h := open(t)
	theirs := h.Start("")
	var c struct{ BlobID uuid.UUID }
	h.Call("PUT", h.Path(theirs.ID, "/content"), `{"instructions":"a"}`).Want(200, &c)
	g := h.guest()
	var own perdure.Execution
	g.in("other", "POST", "/agent-executions", `{"userPrompt":"hi","models":[{"provider":"scripted","modelId":"s"}]}`).Want(201, &own)
	refer := func(blob uuid.UUID) reply {
		return g.in("other", "POST", h.Path(own.ID, "/signal"), fmt.Sprintf(`{"signalName":%q,"signalValueRef":{"blobId":%q}}`, perdure.CompactSignal, blob))
	}
	unknown := uuid.New()
	foreign, none := refer(c.BlobID), refer(unknown)
	if same := strings.ReplaceAll(string(foreign.Body), c.BlobID.String(), unknown.String()); foreign.Status != none.Status || same != string(none.Body) || foreign.Status < 400 || foreign.Status >= 500 {
		t.Errorf("a content of another org gives %d %s, an unknown one %d %s", foreign.Status, foreign.Body, none.Status, none.Body)
	}
	signals, err := h.Engine.Dispatch("other", false).Signals(t.Context(), own.ID, []string{perdure.CompactSignal}, 0, 10)
	if err != nil || len(signals) != 0 {
		t.Errorf("the run has %d signals, %v", len(signals), err)
	}
}
