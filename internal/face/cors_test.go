package face_test

import (
	"strings"
	"testing"

	"github.com/perdure/perdure/internal/face"
)

// Pages of a configured origin may use the API with a key. For pages of other origins, browsers do
// not expose the responses.
func TestPagesOfOtherOrigins(t *testing.T) {
	const app = "https://app.example.com"
	h := open(t, func(c *face.Config) { c.Origins = []string{app} })
	ask := h.Call("OPTIONS", "/agent-executions", "", "Authorization", "", "Origin", app, "Access-Control-Request-Method", "POST", "Access-Control-Request-Headers", "authorization")
	ask.Want(204, nil)
	if got := ask.Header.Get("Access-Control-Allow-Origin"); got != app {
		t.Errorf("the preflight allows %q", got)
	}
	for _, name := range []string{"Authorization", "Content-Type", "Last-Event-ID", "If-Match", "Idempotency-Key"} {
		if !strings.Contains(ask.Header.Get("Access-Control-Allow-Headers"), name) {
			t.Errorf("the header %s is not allowed", name)
		}
	}
	if !strings.Contains(ask.Header.Get("Access-Control-Allow-Methods"), "DELETE") || ask.Header.Get("Access-Control-Allow-Credentials") != "" {
		t.Errorf("the preflight says %v", ask.Header)
	}
	got := h.Call("GET", "/agent-executions", "", "Origin", app).Want(200, nil)
	if got.Header.Get("Access-Control-Allow-Origin") != app || got.Header.Get("Vary") != "Origin" {
		t.Errorf("an answer says %v", got.Header)
	}
	denied := h.Call("GET", "/agent-executions", "", "Authorization", "", "Origin", app)
	if denied.Problem(401, "unauthenticated", ""); denied.Header.Get("Access-Control-Allow-Origin") != app {
		t.Error("the page cannot read why it is refused")
	}
	for _, origin := range []string{"https://evil.example.com", "null", app + ".evil.example.com"} {
		other := h.Call("OPTIONS", "/agent-executions", "", "Authorization", "", "Origin", origin, "Access-Control-Request-Method", "POST")
		if other.Status == 204 || other.Header.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s is allowed: %d %v", origin, other.Status, other.Header)
		}
	}
}

// A filtered stream contains only the events of the requested types and the end event. The seq of
// each event is the next one after the last shown and the last omitted seq.
func TestStreamOfSomeTypes(t *testing.T) {
	h := open(t)
	r := play(h)
	all := h.Follow(h.Path(r.ID, "/stream/consolidated")).All()
	path := h.Path(r.ID, "/stream/consolidated") + "?types=entry.appended,%20agent.completed"
	some := h.Follow(path).All()
	var want, got []string
	for _, e := range all {
		if e.Event == "entry.appended" || e.Event == "agent.completed" || e.Event == "end" {
			want = append(want, e.ID+" "+e.Event)
		}
	}
	var last int64
	for _, e := range some {
		got = append(got, e.ID+" "+e.Event)
		if e.Event == "end" {
			continue
		}
		if spared := int64(e.Fields["prevSeq"].(float64)); e.Seq() != max(last, spared)+1 {
			t.Errorf("after seq %d came %s", last, e.Data)
		}
		last = e.Seq()
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") || len(got) < 4 {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if rest := h.Follow(path, "Last-Event-ID", some[0].ID).All(); show(rest) != show(some[1:]) {
		t.Errorf("resumed:\n%s\nwant\n%s", show(rest), show(some[1:]))
	}
	for _, e := range h.Follow(h.Path(r.ID, "/stream") + "?types=terminal,token").All() {
		if e.Event == "terminal" {
			t.Error("the agent's stream shows what it leaves out")
		}
	}
	h.Call("GET", h.Path(r.ID, "/stream")+"?types=tokens", "").Problem(400, "invalid_argument", "types")
}
