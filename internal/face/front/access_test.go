package front_test

import (
	"net"
	"net/url"
	"strings"
	"testing"

	"github.com/perdure/perdure/internal/face"
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
