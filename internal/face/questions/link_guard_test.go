package questions_test

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/face"
	"github.com/perdure/perdure/internal/face/facetest"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
)

// TestOneOfManyFormsDecides checks that the form of a link counts as one vote, even if it is
// submitted many times at the same time, to two servers on one store.
func TestOneOfManyFormsDecides(t *testing.T) {
	each(t, func(h *testServer) {
		t := h.T
		_, ann := h.newKey("Ann", perdure.KeyApprover)
		id := h.start("x").ask("one")
		_, path := h.link(id, ann)
		servers := []*testServer{h, {Server: h.Restarted(), approver: h.approver}}
		forms := make([]url.Values, 8)
		for i := range forms {
			forms[i] = hidden(servers[i%2].open(path))
			forms[i].Set("verdict", []string{"approve", "deny"}[i/2%2])
		}
		replies := make([]facetest.Reply, len(forms))
		var all sync.WaitGroup
		for i, form := range forms {
			all.Go(func() { replies[i] = servers[i%2].post(path, form) })
		}
		all.Wait()
		won := 0
		for _, r := range replies {
			switch r.Status {
			case 200:
				won++
			case 409:
			default:
				t.Errorf("a form gets %d %s", r.Status, r.Body)
			}
		}
		if q := h.get(id); won != 1 || len(q.Votes) != 1 || q.Version != 2 {
			t.Errorf("%d forms won, and the question is %+v", won, q)
		}
	})
}

// TestAnEditBetweenPageAndForm checks that a submitted form does not vote if the details were
// changed after its page was opened.
func TestAnEditBetweenPageAndForm(t *testing.T) {
	h := open(t)
	_, ann := h.newKey("Ann", perdure.KeyApprover)
	id := h.start("x").ask("one", calls("bash", `{"command":"ls"}`, func(n *perdure.NewQuestion) { n.Needed, n.Edit = 2, perdure.EditClient }))
	_, path := h.link(id, ann)
	page := h.open(path)
	wantPage(t, page, 200, "May bash run?", "\nls</pre>")
	h.vote(h.ClientKey, id, `"verdict":"approve","details":{"command":"rm -r x"}`).Want(200, nil)
	wantPage(t, h.submit(path, page, "verdict", "approve"), 404, noLink)
	_, path = h.link(id, ann)
	wantPage(t, h.submit(path, page, "verdict", "approve"), 409, "has changed", "rm -r x")
	if q := h.get(id); q.Status != perdure.QuestionOpen || len(q.Votes) != 1 {
		t.Errorf("the question is %+v", q)
	}
}

// TestThePageShowsWhatRuns checks that the page shows details as text, in which characters that
// could deceive a reader are written out.
func TestThePageShowsWhatRuns(t *testing.T) {
	h := open(t)
	_, ann := h.newKey("Ann", perdure.KeyApprover)
	a := h.start("x")
	for i, c := range []struct {
		tool, arguments string
		shown           []string
	}{
		{"bash", `{"command":"echo <b>\nls"}`, []string{"<pre tabindex=\"0\">\necho &lt;b&gt;\nls</pre>"}},
		{"bash", `{"command":"ls","timeout":10}`, []string{"<h2>command</h2>", "\nls</pre>", "<h2>timeout</h2>", "\n10</pre>"}},
		{"write-file", `{"path":"a.txt","content":"one\ntwo"}`, []string{"<h2>path</h2>", "\na.txt</pre>", "\none\ntwo</pre>"}},
		{"x", `{"n":12345678901234567890,"o":{"a":[1]}}`, []string{"\n12345678901234567890</pre>", "&#34;a&#34;: [\n"}},
		{"bash", `{"command":"ls \u202e"}`, []string{`ls \u202e</pre>`}},
		{"x", `[1]`, []string{"[\n  1\n]</pre>"}},
	} {
		id := a.ask(fmt.Sprint(i), calls(c.tool, c.arguments))
		_, path := h.link(id, ann)
		wantPage(t, h.open(path), 200, c.shown...)
	}
}

// TestWrongTokensAreLimited checks that an address that tries many invalid tokens must wait. Other
// addresses need not wait.
func TestWrongTokensAreLimited(t *testing.T) {
	h := open(t, func(c *face.Config) { c.PublicURL = &url.URL{Scheme: "https", Host: "perdure.example.com"} })
	_, ann := h.newKey("Ann", perdure.KeyApprover)
	id := h.start("x").ask("one")
	var l link
	h.as(h.AdminKey, "POST", "/questions/"+id.String()+"/links", `{"keyId":"`+ann.String()+`"}`).Want(201, &l)
	path, found := strings.CutPrefix(l.URL, "https://perdure.example.com")
	if !found {
		t.Fatalf("the link is %s", l.URL)
	}
	from := func(address, path string) facetest.Reply {
		return h.Call("GET", "."+path, "", "Authorization", "", "X-Forwarded-For", "203.0.113.9, "+address)
	}
	limited := 0
	for i := range 40 {
		switch r := from("198.51.100.1", fmt.Sprintf("/q/%043d", i)); r.Status {
		case 404:
		case 429:
			limited++
			if r.Header.Get("Retry-After") == "" {
				t.Error("429 without Retry-After")
			}
		default:
			t.Fatalf("a wrong token gets %d", r.Status)
		}
	}
	if limited < 5 || limited > 10 {
		t.Errorf("%d of 40 attempts were refused", limited)
	}
	wantPage(t, from("198.51.100.1", path), 429)
	wantPage(t, from("198.51.100.2", path), 200)
}

// TestALinkCountsTowardsItsKeysLimit checks that requests with a link count towards the request
// limit of the link's key.
func TestALinkCountsTowardsItsKeysLimit(t *testing.T) {
	h := open(t)
	_, ann := h.newKey("Ann", perdure.KeyApprover)
	_, path := h.link(h.start("x").ask("one"), ann)
	h.as(h.AdminKey, "PATCH", "/keys/"+ann.String(), `{"limits":{"requestsPerSecond":1}}`).Want(200, nil)
	refused := false
	for range 20 {
		if r := h.open(path); r.Status == 429 {
			refused = true
			wantPage(t, r, 429)
		}
	}
	if !refused {
		t.Error("no request was refused")
	}
}

// TestTokensAreNowhere checks that no log, trace, audit record, event or error contains the token of
// a link.
func TestTokensAreNowhere(t *testing.T) {
	spans := tracetest.NewInMemoryExporter()
	h := open(t, func(c *face.Config) {
		c.TracerProvider = trace.NewTracerProvider(trace.WithSyncer(spans))
	})
	_, ann := h.newKey("Ann", perdure.KeyApprover)
	a := h.start("x")
	id := a.ask("one")
	_, path := h.link(id, ann)
	token := strings.TrimPrefix(path, "./q/")
	page := h.open(path)
	var shown []byte
	for _, r := range []facetest.Reply{
		page, h.submit(path, page, "verdict", "perhaps"), h.open(path + "/more"), h.open("./q/" + token[1:]), h.Call("PATCH", path, "", "Authorization", ""),
	} {
		shown = append(shown, r.Body...)
	}
	gone := errors.New("the disk is gone") // an error that the server logs
	h.Store.Err.Store(&gone)
	for _, r := range []facetest.Reply{h.open(path), h.submit(path, page, "verdict", "approve")} {
		if r.Status < 500 {
			t.Errorf("without a store, a link gets %d", r.Status)
		}
		shown = append(shown, r.Body...)
	}
	h.Store.Err.Store(nil)
	shown = append(shown, h.submit(path, page, "verdict", "approve").Body...)
	shown = append(shown, h.open(path).Body...)
	for _, more := range []string{"/audit?limit=100", "/agent-executions/" + a.ID.String() + "/events", "/questions/" + id.String() + "/links"} {
		shown = append(shown, h.as(h.AdminKey, "GET", more, "").Want(200, nil).Body...)
	}
	shown = append(shown, h.Logged.Bytes()...)
	for _, s := range spans.GetSpans() {
		shown = append(shown, fmt.Sprint(s.Name, s.Attributes, s.Status)...)
	}
	if h.Logged.Len() == 0 || len(spans.GetSpans()) == 0 {
		t.Error("nothing was logged or traced")
	}
	if strings.Contains(string(shown), token[1:]) {
		t.Error("the token is shown")
	}
}
