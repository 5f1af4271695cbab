package httpapi_test

import (
	"context"
	"log/slog"
	"net"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/httpapi"
)

func TestKeysAreNeeded(t *testing.T) {
	h := open(t)
	x := h.start("")
	for _, auth := range []string{"", "Bearer wrong", "Basic " + h.client, "Bearer "} {
		r := h.call("GET", h.path(x.ID, ""), "", "Authorization", auth)
		p := r.problem(401, "unauthenticated", "")
		if !strings.Contains(p.Detail, "Authorization: Bearer") || !strings.HasPrefix(r.header.Get("WWW-Authenticate"), "Bearer") {
			t.Errorf("the answer does not say how to give a key: %s", r.body)
		}
	}
	h.call("GET", "./api/orgs/other/agent-executions", "").problem(404, "not_found", "")
	h.call("GET", "./api/orgs/other/nothing", "", "Authorization", "").problem(401, "unauthenticated", "")
	h.call("GET", "/agent-executions", "", "Authorization", "Bearer "+h.wkey).problem(403, "permission_denied", "")
	h.call("GET", "/agent-executions", "", "Authorization", "Bearer "+h.admin).want(200, nil)
}

func TestAnotherOrgsExecutionIsUnknown(t *testing.T) {
	h := open(t)
	x := h.start("")
	_, other, err := h.engine.CreateKey(t.Context(), "other", "k", "admin")
	if err != nil {
		t.Fatal(err)
	}
	auth := []string{"Authorization", "Bearer " + other}
	for _, rest := range []string{"", "/entries", "/events", "/stream", "/snapshot", "/tasks", "/checkpoints"} {
		h.call("GET", "./api/orgs/other"+h.path(x.ID, rest), "", auth...).problem(404, "not_found", "")
		h.call("GET", h.path(x.ID, rest), "", auth...).problem(404, "not_found", "")
	}
	h.call("DELETE", "./api/orgs/other"+h.path(x.ID, ""), "", auth...).problem(404, "not_found", "")
}

func TestCookies(t *testing.T) {
	h := open(t)
	h.call("POST", "./api/login", `{"key":"wrong"}`, "Authorization", "").problem(401, "unauthenticated", "")
	h.call("POST", "./api/login", `{}`, "Authorization", "").problem(400, "invalid_argument", "key")
	h.call("POST", "./api/login", `{"key":"`+h.client+`"}`, "Authorization", "", "Origin", "http://evil.example").problem(403, "permission_denied", "")
	r := h.call("POST", "./api/login", `{"key":"`+h.client+`"}`, "Authorization", "")
	r.want(200, nil)
	if r.header.Get("Cache-Control") != "no-store" || strings.Contains(string(r.body), h.client) {
		t.Errorf("the answer: %v %s", r.header, r.body)
	}
	set := r.header.Get("Set-Cookie")
	for _, part := range []string{"perdure_" + h.port() + "=", "HttpOnly", "SameSite=Strict", "Max-Age=43200", "Path=/"} {
		if !strings.Contains(set, part) || strings.Contains(set, h.client) || strings.Contains(set, "Secure") {
			t.Errorf("the cookie %q lacks %s", set, part)
		}
	}
	cookie := h.signIn(h.client).headers()
	h.call("GET", "/agent-executions", "", cookie...).want(200, nil)
	body := `{"userPrompt":"hi",` + models + `}`
	h.call("POST", "/agent-executions", body, cookie...).problem(403, "permission_denied", "")
	h.call("POST", "/agent-executions", body, append(cookie, "Origin", "http://evil.example")...).problem(403, "permission_denied", "")
	h.call("POST", "/agent-executions", body, append(cookie, "Origin", "null")...).problem(403, "permission_denied", "")
	h.call("POST", "/agent-executions", body, append(cookie, "Origin", h.url)...).want(201, nil)
	h.call("POST", "./api/logout", "", append(cookie, "Origin", "http://evil.example")...).problem(403, "permission_denied", "")
	h.call("GET", "/agent-executions", "", cookie...).want(200, nil)
	if set := h.call("POST", "./api/logout", "", append(cookie, "Origin", h.url)...).want(204, nil).header.Get("Set-Cookie"); !strings.Contains(set, "Max-Age=0") {
		t.Errorf("logout sets %q", set)
	}
	h.call("GET", "/agent-executions", "", cookie...).problem(401, "unauthenticated", "")
}

func TestDevModeChecksHostAndOrigin(t *testing.T) {
	h := open(t, func(c *httpapi.Config) { c.Hosts = []string{"127.0.0.1", "localhost"} })
	_, port, err := net.SplitHostPort(strings.TrimPrefix(h.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	h.call("GET", "/agent-executions", "").want(200, nil)
	h.call("GET", "/agent-executions", "", "Host", "localhost:"+port).want(200, nil)
	for _, path := range []string{"/agent-executions", "./", "./healthz", "./docs"} {
		h.call("GET", path, "", "Host", "evil.example:"+port).problem(403, "permission_denied", "")
		h.call("GET", path, "", "Origin", "http://evil.example").problem(403, "permission_denied", "")
	}

	r := h.call("GET", "./?token="+h.client, "", "Authorization", "")
	r.want(303, nil)
	cookie, _, _ := strings.Cut(r.header.Get("Set-Cookie"), ";")
	path, fragment, _ := strings.Cut(r.header.Get("Location"), "#")
	half, err := url.ParseQuery(fragment)
	if err != nil || path != "/docs" || half.Get("org") != "default" || strings.Contains(cookie, h.client) {
		t.Errorf("the token gives %v", r.header)
	}
	h.call("GET", "/agent-executions", "", "Authorization", "", "Cookie", cookie, "Perdure-Session", half.Get("session")).want(200, nil)
	h.call("GET", "./?token=wrong", "", "Authorization", "").problem(401, "unauthenticated", "")
}

// A reader that takes nothing is disconnected, and delays nobody else.
func TestSlowReaderIsResetAndDisturbsNobody(t *testing.T) {
	reset := make(chan struct{})
	h := open(t, func(c *httpapi.Config) {
		c.WriteTimeout = 5 * time.Second // enough for the fast reader on a busy machine
		c.Logger = slog.New(&ear{Handler: c.Logger.Handler(), message: "stream reset", heard: reset})
	})
	x := h.start("")
	conn, err := net.Dial("tcp", strings.TrimPrefix(h.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.(*net.TCPConn).SetReadBuffer(4096); err != nil {
		t.Fatal(err)
	}
	req := h.request("GET", h.path(x.ID, "/stream"), "")
	if err := req.Write(conn); err != nil {
		t.Fatal(err)
	}
	run := h.claim()
	fast := h.follow(h.path(x.ID, "/stream"))
	done := make(chan []sse, 1)
	go func() {
		defer close(done) // also if the reader fails
		done <- fast.all()
	}()
	text := big(200 << 10)
	for i := range 60 { // more than the kernel's buffers hold
		run.stream(0, int64(i*len(text)), "token", text)
	}
	run.complete()
	if n := len(<-done); n < 60 {
		t.Errorf("the fast reader saw %d events", n)
	}
	<-reset // not a clean end; see TestTrap28
}

// ear closes heard at the first log record with that message.
type ear struct {
	slog.Handler
	message string
	heard   chan struct{}
	once    sync.Once
}

func (e *ear) Enabled(context.Context, slog.Level) bool { return true }

// WithAttrs implements slog.Handler: records with more attributes are heard, too.
func (e *ear) WithAttrs([]slog.Attr) slog.Handler { return e }

func (e *ear) Handle(ctx context.Context, r slog.Record) error {
	if r.Message == e.message {
		e.once.Do(func() { close(e.heard) })
	}
	return nil
}
