package client

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// TestEntriesAreWhole checks that the client requests, one by one, the entries whose content the
// server leaves out of a page, except those whose content only a worker has.
func TestEntriesAreWhole(t *testing.T) {
	large, away := uuid.New(), uuid.New()
	asked := 0
	c, _ := newClient(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/entries/"+large.String()) {
			asked++
			_, _ = io.WriteString(w, `{"id":"`+large.String()+`","content":{"parts":[]}}`)
			return
		}
		_, _ = io.WriteString(w, `{"items":[{"id":"`+large.String()+`","content":null,"contentBytes":300000,"contentSha256":"aa"},`+
			`{"id":"`+away.String()+`","content":"worker","contentBytes":300000,"contentSha256":"bb"}],"nextCursor":null}`)
	}))
	var got []perdure.Entry
	for e, err := range c.Entries(t.Context(), anID) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, e)
	}
	if len(got) != 2 || string(got[0].Content) != `{"parts":[]}` || string(got[1].Content) != `"worker"` || asked != 1 {
		t.Errorf("got %+v, %d were asked for", got, asked)
	}
}

// TestFetch checks that Fetch requests a content that the server left out of a response, by the
// hash of the content and only once. Fetch sends no request for a content that the response
// contains or that only a worker has. A response that is too short is an error.
func TestFetch(t *testing.T) {
	c, asked := answer(t, 200, `"whole"`)
	x := perdure.Execution{Input: json.RawMessage(`{}`), Output: json.RawMessage("null"), OutputBytes: 7, OutputSHA256: "ab12"}
	for range 2 {
		if err := c.Fetch(t.Context(), anID, &x.Output, x.OutputBytes, x.OutputSHA256); err != nil || string(x.Output) != `"whole"` {
			t.Fatalf("got %s, %v", x.Output, err)
		}
	}
	if want := "GET /api/orgs/default/agent-executions/" + anID.String() + "/content/ab12"; asked.Line != want {
		t.Errorf("asked %s, want %s", asked.Line, want)
	}
	*asked = receivedRequest{}
	word := perdure.OnWorker
	for _, err := range []error{
		c.Fetch(t.Context(), anID, &x.Input, x.InputBytes, x.InputSHA256),
		c.Fetch(t.Context(), anID, &word, 7, "ab12"),
	} {
		if err != nil || asked.Line != "" {
			t.Errorf("asked %q, %v", asked.Line, err)
		}
	}
	var short json.RawMessage
	if err := c.Fetch(t.Context(), anID, &short, 8, "ab12"); !perdure.IsCode(err, perdure.Unavailable) || short != nil {
		t.Errorf("an answer that breaks off gives %s, %v", short, err)
	}
}
