package front_test

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/perdure/perdure/internal/face"
	"github.com/perdure/perdure/internal/face/front"
	"github.com/perdure/perdure/internal/face/problem"
)

func TestKeysAreNeeded(t *testing.T) {
	h := open(t)
	x := h.Start("")
	for _, auth := range []string{"", "Bearer wrong", "Basic " + h.ClientKey, "Bearer "} {
		r := h.Call("GET", h.Path(x.ID, ""), "", "Authorization", auth)
		p := r.Problem(401, "unauthenticated", "")
		if !strings.Contains(p.Detail, "Authorization: Bearer") || !strings.HasPrefix(r.Header.Get("WWW-Authenticate"), "Bearer") {
			t.Errorf("the answer does not say how to give a key: %s", r.Body)
		}
	}
	h.Call("GET", "./api/orgs/other/agent-executions", "").Problem(404, "not_found", "")
	h.Call("GET", "./api/orgs/other/nothing", "", "Authorization", "").Problem(401, "unauthenticated", "")
	h.Call("GET", "/agent-executions", "", "Authorization", "Bearer "+h.WorkerKey).Problem(403, "permission_denied", "")
	h.Call("GET", "/agent-executions", "", "Authorization", "Bearer "+h.AdminKey).Want(200, nil)
}

// TestTreesAreGuardedAsRoutes checks that requests to a tree of routes (front.Tree), here OpenAI's
// API, pass the same checks as requests to a single route: of the key, of the length of the URL and
// of the headers.
func TestTreesAreGuardedAsRoutes(t *testing.T) {
	h := open(t)
	for _, c := range []struct {
		name, path string
		headers    []string
		status     int
		answer     string
	}{
		{"no key", "./v1/models", []string{"Authorization", ""}, 401, "WWW-Authenticate"},
		{"long URL", "./v1/models?q=" + strings.Repeat("x", 17<<10), nil, 414, "Cache-Control"},
		{"long headers", "./v1/models", []string{"X-Long", strings.Repeat("x", 65<<10)}, 431, "Cache-Control"},
		{"a key", "./v1/models", nil, 200, "Cache-Control"},
	} {
		r := h.Call("GET", c.path, "", c.headers...)
		if r.Status != c.status || r.Header.Get(c.answer) == "" {
			t.Errorf("%s: status %d, %s %q: %.200s", c.name, r.Status, c.answer, r.Header.Get(c.answer), r.Body)
		}
	}
}

// TestAFrontHasSeveralTrees checks that a front with two trees of routes passes each request to the
// tree that owns the path.
func TestAFrontHasSeveralTrees(t *testing.T) {
	f := front.New(front.Config{})
	f.Mount(tree("/one/"))
	f.Mount(tree("/two/"))
	if got, want := f.Routes(), []string{"GET /one/", "GET /two/"}; !slices.Equal(got, want) {
		t.Fatalf("routes %q, want %q", got, want)
	}
	for _, prefix := range []string{"/one/", "/two/"} {
		w := httptest.NewRecorder()
		f.ServeHTTP(w, httptest.NewRequest("GET", prefix+"x", nil))
		if got := w.Body.String(); got != prefix {
			t.Errorf("%s was served by the tree %q", prefix, got)
		}
	}
}

// tree is a front.Tree, a tree of routes, that owns the paths below one prefix. It responds to each
// request with this prefix.
type tree string

func (t tree) Owns(path string) bool { return strings.HasPrefix(path, string(t)) }

func (t tree) Routes() []string                                 { return []string{"GET " + string(t)} }
func (t tree) Route(*http.Request) string                       { return string(t) }
func (t tree) Refuse(w http.ResponseWriter, _ *problem.Problem) { _, _ = io.WriteString(w, string(t)) }

func (t tree) ServeHTTP(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, string(t)) }

func TestAnotherOrgsExecutionIsUnknown(t *testing.T) {
	h := open(t)
	x := h.Start("")
	_, other, err := h.Engine.CreateKey(t.Context(), "other", "k", "admin")
	if err != nil {
		t.Fatal(err)
	}
	auth := []string{"Authorization", "Bearer " + other}
	for _, rest := range []string{"", "/entries", "/events", "/stream", "/snapshot", "/tasks", "/checkpoints"} {
		h.Call("GET", "./api/orgs/other"+h.Path(x.ID, rest), "", auth...).Problem(404, "not_found", "")
		h.Call("GET", h.Path(x.ID, rest), "", auth...).Problem(404, "not_found", "")
	}
	h.Call("DELETE", "./api/orgs/other"+h.Path(x.ID, ""), "", auth...).Problem(404, "not_found", "")
}

func TestCookies(t *testing.T) {
	h := open(t)
	h.Call("POST", "./api/login", `{"key":"wrong"}`, "Authorization", "").Problem(401, "unauthenticated", "")
	h.Call("POST", "./api/login", `{}`, "Authorization", "").Problem(400, "invalid_argument", "key")
	h.Call("POST", "./api/login", `{"key":"`+h.ClientKey+`"}`, "Authorization", "", "Origin", "http://evil.example").Problem(403, "permission_denied", "")
	r := h.Call("POST", "./api/login", `{"key":"`+h.ClientKey+`"}`, "Authorization", "")
	r.Want(200, nil)
	if r.Header.Get("Cache-Control") != "no-store" || strings.Contains(string(r.Body), h.ClientKey) {
		t.Errorf("the answer: %v %s", r.Header, r.Body)
	}
	set := r.Header.Get("Set-Cookie")
	for _, part := range []string{"perdure_" + h.Port() + "=", "HttpOnly", "SameSite=Strict", "Max-Age=43200", "Path=/"} {
		if !strings.Contains(set, part) || strings.Contains(set, h.ClientKey) || strings.Contains(set, "Secure") {
			t.Errorf("the cookie %q lacks %s", set, part)
		}
	}
	cookie := h.SignIn(h.ClientKey).Headers()
	h.Call("GET", "/agent-executions", "", cookie...).Want(200, nil)
	body := `{"userPrompt":"hi",` + models + `}`
	h.Call("POST", "/agent-executions", body, cookie...).Problem(403, "permission_denied", "")
	h.Call("POST", "/agent-executions", body, append(cookie, "Origin", "http://evil.example")...).Problem(403, "permission_denied", "")
	h.Call("POST", "/agent-executions", body, append(cookie, "Origin", "null")...).Problem(403, "permission_denied", "")
	h.Call("POST", "/agent-executions", body, append(cookie, "Origin", h.URL)...).Want(201, nil)
	h.Call("POST", "./api/logout", "", append(cookie, "Origin", "http://evil.example")...).Problem(403, "permission_denied", "")
	h.Call("GET", "/agent-executions", "", cookie...).Want(200, nil)
	if set := h.Call("POST", "./api/logout", "", append(cookie, "Origin", h.URL)...).Want(204, nil).Header.Get("Set-Cookie"); !strings.Contains(set, "Max-Age=0") {
		t.Errorf("logout sets %q", set)
	}
	h.Call("GET", "/agent-executions", "", cookie...).Problem(401, "unauthenticated", "")
}

func TestDevModeChecksHostAndOrigin(t *testing.T) {
	h := open(t, func(c *face.Config) { c.Hosts = []string{"127.0.0.1", "localhost"} })
	_, port, err := net.SplitHostPort(strings.TrimPrefix(h.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	h.Call("GET", "/agent-executions", "").Want(200, nil)
	h.Call("GET", "/agent-executions", "", "Host", "localhost:"+port).Want(200, nil)
	for _, path := range []string{"/agent-executions", "./", "./healthz", "./docs"} {
		h.Call("GET", path, "", "Host", "evil.example:"+port).Problem(403, "permission_denied", "")
		h.Call("GET", path, "", "Origin", "http://evil.example").Problem(403, "permission_denied", "")
	}

	r := h.Call("GET", "./?token="+h.ClientKey, "", "Authorization", "")
	r.Want(303, nil)
	cookie, _, _ := strings.Cut(r.Header.Get("Set-Cookie"), ";")
	path, fragment, _ := strings.Cut(r.Header.Get("Location"), "#")
	half, err := url.ParseQuery(fragment)
	if err != nil || path != "/docs" || half.Get("org") != "default" || strings.Contains(cookie, h.ClientKey) {
		t.Errorf("the token gives %v", r.Header)
	}
	h.Call("GET", "/agent-executions", "", "Authorization", "", "Cookie", cookie, "Perdure-Session", half.Get("session")).Want(200, nil)
	h.Call("GET", "./?token=wrong", "", "Authorization", "").Problem(401, "unauthenticated", "")
}
