package server_test

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/longtest"
	"github.com/perdure/perdure/server"
)

// asBrowser requests a route of the table with headers instead of a key.
func (w *world) asBrowser(name string, headers ...string) answer {
	w.Helper()
	r := routes[name]
	r.headers = append(slices.Clone(r.headers), headers...)
	return w.requestAs(name, r, "", w.names)
}

// guarded returns the routes that need a key. Routes that delete an object come last.
func guarded() []string {
	names := slices.SortedFunc(maps.Keys(routes), last)
	return slices.DeleteFunc(names, func(name string) bool { return routes[name].needs == "" })
}

// TestHalfASessionOpensNothing checks that every route that needs a key refuses an incomplete or
// invalid session. Examples are one half of the secret, halves of two sessions, a half that is sent
// where the other half belongs, and a session that was revoked or signed out.
func TestHalfASessionOpensNothing(t *testing.T) {
	longtest.Skip(t, "seconds")
	w := newWorld(t)
	one, two := w.signIn(w.keys["acme admin"]), w.signIn(w.keys["acme admin"])
	token := w.signIn(w.Token())
	revoked := w.signIn(w.keys["acme admin"])
	w.json("DELETE", "/api/orgs/acme/sessions/"+revoked.id, "", nil)
	left := w.signIn(w.keys["acme admin"])
	if a := w.ask("", "POST", "/api/logout", "", left.headers()...); a.status != http.StatusNoContent {
		t.Fatalf("the logout is answered %d %s", a.status, a.body)
	}
	key, secret, err := w.CreateKey(t.Context(), "acme", "brief", perdure.KeyAdmin)
	w.must(err)
	ofRevoked := w.signIn(secret)
	w.json("DELETE", "/api/orgs/acme/keys/"+key.ID.String(), "", nil)
	_, value, _ := strings.Cut(one.cookie, "=")
	origin := []string{"Origin", "http://" + w.HTTPAddress()}
	for what, headers := range map[string][]string{
		"the cookie alone":                      browser{cookie: one.cookie}.headers(),
		"an operator's cookie alone":            browser{cookie: token.cookie}.headers(),
		"the page's half alone":                 browser{half: one.half}.headers(),
		"halves of two sessions":                browser{cookie: one.cookie, half: two.half}.headers(),
		"the halves exchanged":                  browser{cookie: strings.Replace(one.cookie, value, one.half, 1), half: value}.headers(),
		"the cookie twice":                      browser{cookie: one.cookie, half: value}.headers(),
		"the cookie under the name before":      browser{cookie: "perdure=" + value, half: one.half}.headers(),
		"the key as a cookie":                   {"Cookie", "perdure=" + w.keys["acme admin"]},
		"the cookie's half as a key":            {"Authorization", "Bearer " + value},
		"the page's half as a key":              {"Authorization", "Bearer " + one.half},
		"the page's half in a subprotocol":      {"Sec-WebSocket-Protocol", "perdure, perdure.session." + one.half},
		"the subprotocol with a foreign cookie": {"Cookie", two.cookie, "Sec-WebSocket-Protocol", "perdure, perdure.session." + one.half},
		"a session that was revoked":            revoked.headers(),
		"a session that was left":               left.headers(),
		"a session of a revoked key":            ofRevoked.headers(),
	} {
		for _, name := range guarded() {
			if a := w.asBrowser(name, append(slices.Clone(headers), origin...)...); a.status != http.StatusUnauthorized {
				t.Errorf("%s with %s: %d %s", name, what, a.status, a.body)
			}
		}
	}
}

// TestASessionIsItsKey checks that a session with both halves of its secret permits on every route
// what its API key permits. Requests that write are refused if they have no Origin header or come
// from another origin.
func TestASessionIsItsKey(t *testing.T) {
	w := newWorld(t)
	admin, client, worker, token := w.signIn(w.keys["acme admin"]), w.signIn(w.keys["acme client"]), w.signIn(w.keys["acme worker"]), w.signIn(w.Token())
	approver := w.signIn(w.keys["acme approver"])
	own := []string{"Origin", "http://" + w.HTTPAddress()}
	if a := w.ask(w.Token(), "POST", "/api/orgs", `{"id":"acme"}`, "Content-Type", "application/json"); a.status != http.StatusCreated {
		t.Fatalf("the org is answered %d %s", a.status, a.body)
	}
	for _, name := range guarded() {
		method, _, _ := strings.Cut(name, " ")
		needs := routes[name].needs
		writes := method != http.MethodGet && method != http.MethodHead || strings.HasSuffix(name, "/ws")
		if writes {
			for what, origin := range map[string][]string{"no": nil, "a foreign": {"Origin", "http://127.0.0.1:1"}, "an opaque": {"Origin", "null"}} {
				if a := w.asBrowser(name, append(admin.headers(), origin...)...); a.status != http.StatusForbidden {
					t.Errorf("%s from %s origin: %d %s", name, what, a.status, a.body)
				}
			}
		}
		for _, c := range []struct {
			who string
			browser
			may bool
		}{
			{"worker", worker, false},
			{"approver", approver, needs == asApprover},
			{"client", client, needs == asClient || needs == asApprover},
			{"admin", admin, needs != asOperator},
			{"operator", token, needs == asOperator},
		} {
			if c.who == "operator" && !c.may {
				continue // under /v1 this session's org is default, which has no objects
			}
			got := outcomeOf(w.asBrowser(name, append(c.headers(), own...)...).status)
			gone := got == "not found" && method == http.MethodDelete // deleted by the previous role
			if want := map[bool]string{true: "yes", false: "denied"}[c.may]; got != want && (!c.may || !gone) {
				t.Errorf("%s with a session of the %s: %s, want %s", name, c.who, got, want)
			}
		}
	}
}

// TestASessionIsOverInTime checks that a session is refused after 12 hours of the store's clock.
func TestASessionIsOverInTime(t *testing.T) {
	clock := &shiftedClock{}
	w := newWorld(t, func(c *server.Config) { c.Clock = clock.Now })
	b := w.signIn(w.keys["acme client"])
	const list = "GET /api/orgs/{org}/agent-executions"
	if a := w.asBrowser(list, b.headers()...); a.status != http.StatusOK {
		t.Fatalf("a new session: %d %s", a.status, a.body)
	}
	clock.by.Store(int64(perdure.SessionLife))
	for _, name := range guarded() {
		if a := w.asBrowser(name, append(b.headers(), "Origin", "http://"+w.HTTPAddress())...); a.status != http.StatusUnauthorized {
			t.Errorf("%s after 12 hours: %d %s", name, a.status, a.body)
		}
	}
}

// TestSessionsOfOthersAreUnknown checks that API keys of other orgs, and a key of the same org with
// the role client, neither see nor end sessions that were signed in with other keys. A session that
// was signed in with the data directory's token can list orgs and read every org.
func TestSessionsOfOthersAreUnknown(t *testing.T) {
	w := newWorld(t)
	token, acme := w.signIn(w.Token()), w.signIn(w.keys["acme admin"])
	if a := w.ask("", "GET", "/api/orgs", "", token.headers()...); a.status != http.StatusOK {
		t.Errorf("the operator's session lists orgs: %d %s", a.status, a.body)
	}
	_, secret, err := w.CreateKey(t.Context(), server.DevOrg, "admin", perdure.KeyAdmin)
	w.must(err)
	for org, key := range map[string]string{server.DevOrg: secret, "rival": w.keys["rival admin"], "acme": w.keys["acme client"]} {
		path := "/api/orgs/" + org + "/sessions"
		a := w.ask(key, "GET", path, "")
		if a.status != http.StatusOK || strings.Contains(a.body, token.id) || strings.Contains(a.body, acme.id) {
			t.Errorf("%s lists %d %s", org, a.status, a.body)
		}
		for _, id := range []string{token.id, acme.id, uuid.NewString()} {
			if a := w.ask(key, "DELETE", path+"/"+id, ""); a.status != http.StatusNotFound {
				t.Errorf("%s ends a session of others: %d %s", org, a.status, a.body)
			}
		}
	}
	if a := w.ask(w.Token(), "GET", "/api/orgs/"+server.DevOrg+"/sessions", ""); !strings.Contains(a.body, token.id) {
		t.Errorf("the operator does not see its session: %s", a.body)
	}
	for org, b := range map[string]browser{server.DevOrg: token, "acme": acme} {
		if a := w.ask("", "GET", "/api/orgs/"+org+"/retention", "", b.headers()...); a.status != http.StatusOK {
			t.Errorf("a session was ended: %d %s", a.status, a.body)
		}
	}
}
