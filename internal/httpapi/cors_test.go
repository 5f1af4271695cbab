package httpapi_test

import (
	"strings"
	"testing"

	"github.com/perdure/perdure/internal/httpapi"
)

// Pages of a configured origin may use the API with a key. For pages of other origins, browsers do
// not expose the responses.
func TestPagesOfOtherOrigins(t *testing.T) {
	const app = "https://app.example.com"
	h := open(t, func(c *httpapi.Config) { c.Origins = []string{app} })
	ask := h.call("OPTIONS", "/agent-executions", "", "Authorization", "", "Origin", app, "Access-Control-Request-Method", "POST", "Access-Control-Request-Headers", "authorization")
	ask.want(204, nil)
	if got := ask.header.Get("Access-Control-Allow-Origin"); got != app {
		t.Errorf("the preflight allows %q", got)
	}
	for _, name := range []string{"Authorization", "Content-Type", "Last-Event-ID", "If-Match", "Idempotency-Key"} {
		if !strings.Contains(ask.header.Get("Access-Control-Allow-Headers"), name) {
			t.Errorf("the header %s is not allowed", name)
		}
	}
	if !strings.Contains(ask.header.Get("Access-Control-Allow-Methods"), "DELETE") || ask.header.Get("Access-Control-Allow-Credentials") != "" {
		t.Errorf("the preflight says %v", ask.header)
	}
	got := h.call("GET", "/agent-executions", "", "Origin", app).want(200, nil)
	if got.header.Get("Access-Control-Allow-Origin") != app || got.header.Get("Vary") != "Origin" {
		t.Errorf("an answer says %v", got.header)
	}
	denied := h.call("GET", "/agent-executions", "", "Authorization", "", "Origin", app)
	if denied.problem(401, "unauthenticated", ""); denied.header.Get("Access-Control-Allow-Origin") != app {
		t.Error("the page cannot read why it is refused")
	}
	for _, origin := range []string{"https://evil.example.com", "null", app + ".evil.example.com"} {
		other := h.call("OPTIONS", "/agent-executions", "", "Authorization", "", "Origin", origin, "Access-Control-Request-Method", "POST")
		if other.status == 204 || other.header.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s is allowed: %d %v", origin, other.status, other.header)
		}
	}
}

// Events are filtered by type, prevSeq shows what was omitted, and the cursor also passes omitted
// events.
func TestStreamOfSomeTypes(t *testing.T) {
	h := open(t)
	r := play(h)
	all := h.follow(h.path(r.id, "/stream/consolidated")).all()
	path := h.path(r.id, "/stream/consolidated") + "?types=entry.appended,%20agent.completed"
	some := h.follow(path).all()
	var want, got []string
	for _, e := range all {
		if e.event == "entry.appended" || e.event == "agent.completed" || e.event == "end" {
			want = append(want, e.id+" "+e.event)
		}
	}
	var last int64
	for _, e := range some {
		got = append(got, e.id+" "+e.event)
		if e.event == "end" {
			continue
		}
		if spared := int64(e.fields["prevSeq"].(float64)); e.seq() != max(last, spared)+1 {
			t.Errorf("after seq %d came %s", last, e.data)
		}
		last = e.seq()
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") || len(got) < 4 {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if rest := h.follow(path, "Last-Event-ID", some[0].id).all(); show(rest) != show(some[1:]) {
		t.Errorf("resumed:\n%s\nwant\n%s", show(rest), show(some[1:]))
	}
	for _, e := range h.follow(h.path(r.id, "/stream") + "?types=terminal,token").all() {
		if e.event == "terminal" {
			t.Error("the agent's stream shows what it leaves out")
		}
	}
	h.call("GET", h.path(r.id, "/stream")+"?types=tokens", "").problem(400, "invalid_argument", "types")
}
