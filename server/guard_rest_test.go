package server_test

import (
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/face/front"
	"github.com/perdure/perdure/internal/longtest"
	"github.com/perdure/perdure/web"
)

// TestEveryRouteIsGuarded checks that every route of the server is in the table of the access tests.
func TestEveryRouteIsGuarded(t *testing.T) {
	w := newWorld(t)
	known := map[string]bool{}
	registered := w.Routes()
	for _, pattern := range registered {
		switch {
		case beside[pattern] != nil:
			for _, name := range beside[pattern] {
				known[name] = true
			}
		case !isFile(pattern):
			known[pattern] = true
		}
	}
	if len(known) < 60 {
		t.Errorf("the server has %d routes", len(known))
	}
	for pattern := range beside {
		if !slices.Contains(registered, pattern) {
			t.Errorf("there is no route %s any more", pattern)
		}
	}
	for name := range known {
		if _, ok := routes[name]; !ok {
			t.Errorf("%s is in no table of access; give it a line in routes", name)
		}
	}
	for name := range routes {
		if !known[name] {
			t.Errorf("there is no %s", name)
		}
	}
}

// isFile reports whether a route's pattern serves a file of the web pages.
func isFile(pattern string) bool {
	_, err := fs.Stat(web.Pages(), strings.TrimPrefix(pattern, "GET /"))
	return err == nil && strings.HasPrefix(pattern, "GET /")
}

// TestPublicRoutesAreListed checks that every route that is not public needs a key, and no public route
// needs one.
func TestPublicRoutesAreListed(t *testing.T) {
	public := front.Public()
	for name, r := range routes {
		if name == "GET /" {
			name = "GET /{$}"
		}
		listed := slices.ContainsFunc(public, func(p string) bool {
			matched, err := path.Match(p, name)
			return err == nil && matched
		})
		if listed != (r.needs == "") {
			t.Errorf("%s needs the role %q; is it public? %v", name, r.needs, listed)
		}
	}
}

// request sends a request to a route of the table. The map `names` has the values for placeholders
// in the path, such as {id}.
func (w *world) request(name, key string, names map[string]string) answer {
	w.Helper()
	return w.requestAs(name, routes[name], key, names)
}

func (w *world) requestAs(name string, r route, key string, names map[string]string) answer {
	w.Helper()
	method, path, _ := strings.Cut(name, " ")
	if r.ids != "" {
		names = maps.Clone(names)
		names["id"] = names[r.ids]
	}
	for what, value := range names {
		path = strings.ReplaceAll(path, "{"+what+"}", value)
	}
	if strings.Contains(path, "{") {
		w.Fatalf("%s: nothing stands for a name in it", path)
	}
	if r.query != "" {
		path += "?" + r.query
	}
	ctype := r.ctype
	if ctype == "" {
		ctype = "application/json"
	}
	body := strings.ReplaceAll(strings.ReplaceAll(r.body, "UNIQUE", "n"+uuid.NewString()[:8]), "KEY", w.keys["acme client"])
	body = strings.ReplaceAll(body, "VOTER", w.names["key"])
	return w.ask(key, method, path, body, append([]string{"Content-Type", ctype}, r.headers...)...)
}

// last compares two routes for sorting, so that routes that delete their object come last.
func last(a, b string) int {
	gone := func(name string) int {
		if strings.HasPrefix(name, "DELETE") {
			return 1
		}
		return 0
	}
	if d := gone(a) - gone(b); d != 0 {
		return d
	}
	return strings.Compare(a, b)
}

// outcomeOf returns the outcome that an HTTP status stands for, such as "no key".
func outcomeOf(status int) string {
	switch status {
	case http.StatusUnauthorized:
		return "no key"
	case http.StatusForbidden:
		return "denied"
	case http.StatusNotFound:
		return "not found"
	}
	return "yes"
}

// TestRolesReachWhatTheyMay checks every role with every operation. A missing, wrong or revoked key is
// refused wherever a key is needed. Each role reaches exactly the operations of the table in
// docs/api.md.
func TestRolesReachWhatTheyMay(t *testing.T) {
	w := newWorld(t)
	var rows []string
	for _, name := range slices.SortedFunc(maps.Keys(routes), last) {
		r := routes[name]
		row := map[string]bool{}
		for _, c := range []struct {
			who       string
			may       bool
			otherwise string
		}{
			{"", r.needs == "", "no key"},
			{"acme revoked", r.needs == "", "no key"},
			{"wrong", r.needs == "", "no key"},
			{"acme worker", r.needs == "", "denied"},
			{"acme approver", r.needs == "" || r.needs == asApprover, "denied"},
			{"acme client", r.needs != asAdmin && r.needs != asOperator, "denied"},
			{"acme admin", r.needs != asOperator, "denied"},
		} {
			key := w.keys[c.who]
			if c.who == "wrong" {
				key = "prd_" + strings.Repeat("x", 32)
			}
			got := outcomeOf(w.request(name, key, w.names).status)
			gone := got == "not found" && strings.HasPrefix(name, "DELETE") // deleted by the previous role
			if want := map[bool]string{true: "yes", false: c.otherwise}[c.may]; got != want && (!c.may || !gone) {
				t.Errorf("%s with the key %q: %s, want %s", name, c.who, got, want)
			}
			row[c.who] = c.may
		}
		mark := map[bool]string{true: "yes", false: ""}
		rows = append(rows, fmt.Sprintf("| `%s` | %s | %s | %s | %s | %s |", name, mark[row[""]], mark[row["acme worker"]], mark[row["acme approver"]], mark[row["acme client"]], mark[row["acme admin"]]))
	}
	slices.Sort(rows)
	documented(t, "api.md", rows)
}

// documented compares the table rows in a file of docs/ with `rows`, the rows that a test checks.
func documented(t *testing.T, file string, rows []string) {
	t.Helper()
	raw, err := os.ReadFile("../docs/" + file)
	if err != nil {
		t.Fatal(err)
	}
	_, table, found := strings.Cut(string(raw), "<!-- "+t.Name()+" -->\n")
	table, _, ended := strings.Cut(table, "<!-- end -->")
	if want := strings.Join(rows, "\n") + "\n"; !found || !ended || !strings.HasSuffix(table, "|\n"+want) {
		t.Errorf("docs/%s says otherwise who may do what; between <!-- %s --> and <!-- end --> has to stand, under the head of the table:\n%s", file, t.Name(), want)
	}
}

// strangeNames returns values for the placeholders in paths. They have the same form as the ids and
// names of the org acme, but no object has them.
func (w *world) strangeNames() map[string]string {
	names := maps.Clone(w.names)
	for what := range names {
		switch what {
		case "org", "seq":
		case "sha256":
			names[what] = strings.Repeat("0", 64)
		case "response":
			names[what] = "resp_" + strings.Repeat("0", len(names[what])-5)
		case "conversation":
			names[what] = "conv_" + strings.Repeat("0", len(names[what])-5)
		case "item":
			names[what] = "msg_" + strings.Repeat("0", 24) + "p0"
		case "path", "slug":
			names[what] = "no-such-" + what
		default:
			names[what] = uuid.NewString()
		}
	}
	return names
}

// unnamed removes from a response the names in the request, and values that differ between calls.
func unnamed(text string, names map[string]string) string {
	for what, value := range names {
		if len(value) > 3 {
			text = strings.ReplaceAll(text, value, "{"+what+"}")
		}
	}
	return regexp.MustCompile(`(Date: .*|(?i:x-request-id): .*|[0-9a-f]{8}-[0-9a-f-]{27}|n[0-9a-f]{8}|Content-Length: \d+)`).ReplaceAllString(text, "_")
}

// TestOrgsAreApart calls every operation on an object of the org acme with a key of another org.
// The response is the same as if the object did not exist. No response contains data of acme, and
// none of its data changes.
func TestOrgsAreApart(t *testing.T) {
	longtest.Skip(t, "seconds")
	w := newWorld(t)
	before := w.everything()
	for _, name := range slices.Sorted(maps.Keys(routes)) {
		r := routes[name]
		if r.needs == "" {
			continue
		}
		for _, role := range []string{"admin", "client", "approver"} {
			if role == "approver" && r.needs != asApprover {
				continue
			}
			for _, org := range []string{"acme", "rival"} {
				theirs, none := maps.Clone(w.names), w.strangeNames()
				theirs["org"], none["org"] = org, org
				if org == "acme" && strings.Contains(name, "{org}") {
					none["org"] = "nowhere"
				}
				got, want := w.request(name, w.keys["rival "+role], theirs), w.request(name, w.keys["rival "+role], none)
				if strings.Contains(got.head+got.body, canary) && !strings.Contains(name, "{path}") && !strings.Contains(name, "{slug}") {
					t.Errorf("%s in %s as rival's %s tells of what acme has: %s%s", name, org, role, got.head, got.body)
				}
				if got.status < 300 && want.status < 300 {
					continue // operations on objects that rival creates and owns itself
				}
				if g, n := unnamed(fmt.Sprint(got), theirs), unnamed(fmt.Sprint(want), none); g != n {
					t.Errorf("%s in %s as rival's %s: %s\nand of what is not there: %s", name, org, role, g, n)
				}
				if org == "acme" && strings.Contains(name, "{org}") && r.needs != asOperator && got.status != http.StatusNotFound {
					t.Errorf("%s in acme as rival's %s is answered %d", name, role, got.status)
				}
			}
		}
	}
	if after := w.everything(); after != before {
		t.Errorf("what acme has was changed:\n%s\nbefore:\n%s", after, before)
	}
}

// TestReferencesToAnotherOrgAreUnknown checks requests that name an object of another org in the
// body, or in the path after an object of the caller's org. The server treats the named object as
// one that does not exist.
func TestReferencesToAnotherOrgAreUnknown(t *testing.T) {
	w := newWorld(t)
	own, err := w.client("rival", "admin").Start(t.Context(), client.StartRequest{Kind: "agent"})
	w.must(err)
	for _, c := range []struct{ method, path, body string }{
		{"POST", "/v1/responses", `{"model":"scripted/m","input":"hi","background":true,"previous_response_id":"{response}"}`},
		{"POST", "/v1/responses", `{"model":"scripted/m","input":"hi","background":true,"conversation":"{conversation}"}`},
		{"POST", "/v1/responses", `{"model":"scripted/m","input":[{"type":"item_reference","id":"{item}"}],"background":true}`},
		{"POST", "/v1/responses/compact", `{"model":"scripted/m","previous_response_id":"{response}"}`},
		{"POST", "/v1/responses/compact", `{"model":"scripted/m","input":[{"type":"item_reference","id":"{item}"}]}`},
		{"POST", "/v1/conversations", `{"items":[{"type":"item_reference","id":"{item}"}]}`},
		{"POST", "/v1/responses", `{"model":"{slug}","input":"hi","background":true}`},
		{"POST", "/api/orgs/rival/agent-executions", `{"agentDefinitionId":"{definition}","userPrompt":"hi"}`},
		{"GET", "/api/orgs/rival/agent-executions?agentDefinitionId={definition}", ""},
		{"GET", "/api/orgs/rival/agent-executions?q={id}", ""},
		{"GET", "/api/orgs/rival/agent-executions?q=" + canary, ""},
		{"GET", "/api/orgs/rival/agent-executions?metadata.k=" + canary, ""},
		{"GET", "/api/orgs/rival/questions?agentExecutionId={id}", ""},
		{"GET", "/api/orgs/rival/agent-executions/" + own.ID.String() + "/content/{sha256}", ""},
		{"GET", "/api/orgs/rival/agent-executions/" + own.ID.String() + "/entries/{entryId}", ""},
	} {
		fill := func(text string, names map[string]string) string {
			for what, value := range names {
				text = strings.ReplaceAll(text, "{"+what+"}", value)
			}
			return text
		}
		ask := func(names map[string]string) string {
			a := w.ask(w.keys["rival admin"], c.method, fill(c.path, names), fill(c.body, names), "Content-Type", "application/json")
			return unnamed(fmt.Sprint(a), names)
		}
		if got, want := ask(w.names), ask(w.strangeNames()); got != want || strings.Contains(got, canary) && !strings.Contains(c.path, canary) {
			t.Errorf("%s %s %s: %s\nand of what is not there: %s", c.method, c.path, c.body, got, want)
		}
	}
}

// everything returns all data of the org acme, as its admin reads it.
func (w *world) everything() string {
	w.Helper()
	var all []string
	for _, name := range []string{
		"GET /api/orgs/{org}/agent-definitions", "GET /api/orgs/{org}/agent-executions", "GET /api/orgs/{org}/keys", "GET /api/orgs/{org}/audit", "GET /api/orgs/{org}/retention",
		"GET /api/orgs/{org}/questions", "GET /api/orgs/{org}/questions/{id}", "GET /api/orgs/{org}/webhooks", "GET /api/orgs/{org}/approval-grants",
		"GET /api/orgs/{org}/agent-executions/{id}/events", "GET /api/orgs/{org}/agent-executions/{id}/entries", "GET /api/orgs/{org}/agent-executions/{id}/tasks",
		"GET /api/orgs/{org}/agent-executions/{id}/signals",
		"GET /v1/stream/{path}", "GET /v1/responses/{response}", "GET /v1/conversations/{conversation}", "GET /v1/conversations/{conversation}/items",
	} {
		a := w.request(name, w.keys["acme admin"], w.names)
		if a.status != http.StatusOK {
			w.Fatalf("%s: %d %s", name, a.status, a.body)
		}
		all = append(all, name+": "+a.body)
	}
	return strings.Join(all, "\n")
}

// TestIDsOfTheWrongKind checks that an id of the wrong type, and text that is not an id, get the same
// response as an unknown id.
func TestIDsOfTheWrongKind(t *testing.T) {
	w := newWorld(t)
	for _, name := range slices.Sorted(maps.Keys(routes)) {
		if !strings.Contains(name, "{id}") {
			continue
		}
		for _, wrong := range []string{w.names["task"], w.names["entryId"], w.names["key"], w.names["definition"], w.names["id"], "1", "..%2f", "%00", "nil", uuid.Nil.String(), "%7B" + w.names["id"] + "%7D"} {
			if r := routes[name]; (r.ids == "" || r.ids == "spare") && wrong == w.names["id"] || wrong == w.names[r.ids] {
				continue
			}
			names := maps.Clone(w.names)
			names["id"], names["spare"], names["definition"], names["key"], names["session"], names["question"] = wrong, wrong, wrong, wrong, wrong, wrong
			names["webhook"], names["spare webhook"], names["grant"], names["bulk action"], names["linked question"] = wrong, wrong, wrong, wrong, wrong
			if a := w.request(name, w.keys["acme admin"], names); a.status != http.StatusNotFound {
				t.Errorf("%s of %s: %d %s", name, wrong, a.status, a.body)
			}
		}
	}
}
