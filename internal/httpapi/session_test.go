package httpapi_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/httpapi"
)

// signed is a browser that is signed in.
type signed struct {
	id           uuid.UUID
	cookie, half string
}

// headers returns the headers of its requests, in place of a key.
func (s signed) headers(more ...string) []string {
	return append([]string{"Authorization", "", "Cookie", s.cookie, "Perdure-Session", s.half}, more...)
}

func (s signed) protocols() string { return "perdure, perdure.session." + s.half }

// port returns the server's port.
func (h *house) port() string { return h.url[strings.LastIndex(h.url, ":")+1:] }

func (h *house) signIn(key string, headers ...string) signed {
	h.t.Helper()
	r := h.call("POST", "./api/login", `{"key":"`+key+`"}`, append([]string{"Authorization", "", "User-Agent", "Test 1"}, headers...)...)
	var reply struct {
		SessionID uuid.UUID
		Session   string
	}
	if err := json.Unmarshal(r.want(200, nil).body, &reply); err != nil {
		h.t.Fatal(err)
	}
	cookie, _, _ := strings.Cut(r.header.Get("Set-Cookie"), ";")
	return signed{reply.SessionID, cookie, reply.Session}
}

// sessions lists the sessions that the key may see.
func (h *house) sessions(headers ...string) (all []perdure.Session) {
	h.t.Helper()
	var list struct{ Items []perdure.Session }
	if err := json.Unmarshal(h.call("GET", "/sessions", "", headers...).want(200, nil).body, &list); err != nil {
		h.t.Fatal(err)
	}
	return list.Items
}

func TestLoginAnswersWithOneHalf(t *testing.T) {
	h := open(t)
	r := h.call("POST", "./api/login", `{"key":"`+h.client+`"}`, "Authorization", "")
	var reply struct {
		Org, Role, Session string
		SessionID          uuid.UUID
		ExpiresAt          perdure.Time
	}
	r.want(200, &reply)
	if reply.Org != "default" || reply.Role != "client" || len(reply.Session) < 32 || reply.SessionID == uuid.Nil || reply.ExpiresAt.IsZero() {
		t.Errorf("the answer is %s", r.body)
	}
	cookie, _, _ := strings.Cut(strings.TrimPrefix(r.header.Get("Set-Cookie"), "perdure_"+h.port()+"="), ";")
	if strings.Contains(string(r.body), cookie) || len(cookie) < 32 {
		t.Errorf("the cookie %q is in the body %s", cookie, r.body)
	}
}

// An admin's key lists and ends the sessions of its org except the operator's; a client's key lists
// and ends its own; an operator all. A session that is not visible is not found.
func TestSessionsAreListedAndRevoked(t *testing.T) {
	h := open(t)
	mine, other, admins := h.signIn(h.client), h.signIn(h.key("client")), h.signIn(h.admin)
	list := h.sessions("Authorization", "Bearer "+h.admin)
	if len(list) != 3 {
		t.Fatalf("an admin sees %+v", list)
	}
	for i, want := range []signed{mine, other, admins} {
		got := list[i]
		if got.ID != want.id || got.KeyID == nil || got.Current || got.UserAgent != "Test 1" || !strings.HasPrefix(got.RemoteAddress, "127.0.0.1:") ||
			got.ExpiresAt.Sub(got.CreatedAt.Time) != perdure.SessionLife {
			t.Errorf("session %d is %+v", i, got)
		}
	}
	if list := h.sessions(mine.headers()...); len(list) != 1 || list[0].ID != mine.id || !list[0].Current {
		t.Errorf("a client sees %+v", list)
	}
	if list := h.sessions(); len(list) != 1 || list[0].Current {
		t.Errorf("with the key it sees %+v", list)
	}
	h.call("DELETE", "/sessions/"+other.id.String(), "").problem(404, "not_found", "")
	h.call("DELETE", "/sessions/"+uuid.NewString(), "").problem(404, "not_found", "")
	h.call("DELETE", "/sessions/"+mine.id.String(), "").want(200, nil)
	h.call("GET", "/sessions", "", mine.headers()...).problem(401, "unauthenticated", "")
	h.call("DELETE", "/sessions/"+mine.id.String(), "").problem(404, "not_found", "")
	h.call("DELETE", "/sessions/"+other.id.String(), "", "Authorization", "Bearer "+h.admin).want(200, nil)
	h.call("GET", "/sessions", "", other.headers()...).problem(401, "unauthenticated", "")
	h.call("GET", "/sessions", "", admins.headers()...).want(200, nil)
	h.call("GET", "/sessions?cursor=x", "").problem(400, "invalid_argument", "cursor")
}

func TestSessionsArePaged(t *testing.T) {
	h := open(t)
	for range 5 {
		h.signIn(h.client)
	}
	var seen []uuid.UUID
	for path := "/sessions?limit=2"; path != ""; {
		var page struct {
			Items      []perdure.Session
			NextCursor *string
		}
		if err := json.Unmarshal(h.call("GET", path, "").want(200, nil).body, &page); err != nil {
			t.Fatal(err)
		}
		for _, s := range page.Items {
			seen = append(seen, s.ID)
		}
		path = ""
		if page.NextCursor != nil {
			path = "/sessions?limit=2&cursor=" + url.QueryEscape(*page.NextCursor)
		}
	}
	if len(seen) != 5 {
		t.Errorf("%d sessions were seen", len(seen))
	}
}

// Half of a session cannot sign out either.
func TestLogoutNeedsBothHalves(t *testing.T) {
	h := open(t)
	one, two := h.signIn(h.client), h.signIn(h.client)
	for _, headers := range [][]string{
		{"Cookie", one.cookie}, {"Perdure-Session", one.half}, {"Cookie", one.cookie, "Perdure-Session", two.half}, {},
	} {
		h.call("POST", "./api/logout", "", append(headers, "Authorization", "")...).want(204, nil)
	}
	h.call("GET", "/sessions", "", one.headers()...).want(200, nil)
	h.call("GET", "/sessions", "", two.headers()...).want(200, nil)
}

// Streams and sockets of a session end with the session, its key or its org.
func TestStreamsEndWithTheirSession(t *testing.T) {
	h := open(t, func(c *httpapi.Config) { c.RecheckEvery = time.Millisecond })
	x := h.start("")
	if _, err := h.engine.CreateOrg(t.Context(), "default"); err != nil && !perdure.IsCode(err, perdure.AlreadyExists) {
		t.Fatal(err)
	}
	brief, secret, err := h.engine.CreateKey(t.Context(), "default", "brief", "client")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		what, key string
		end       func(signed)
	}{
		{"logout", h.client, func(s signed) {
			h.call("POST", "./api/logout", "", s.headers("Origin", h.url)...).want(204, nil)
		}},
		{"revocation", h.client, func(s signed) {
			h.call("DELETE", "/sessions/"+s.id.String(), "", "Authorization", "Bearer "+h.admin).want(200, nil)
		}},
		{"revocation of the key", secret, func(signed) {
			h.call("DELETE", "/keys/"+brief.ID.String(), "", "Authorization", "Bearer "+h.admin).want(200, nil)
		}},
		{"the org's end", h.client, func(signed) {
			if _, err := h.engine.DisableOrg(t.Context(), "default"); err != nil {
				t.Fatal(err)
			}
		}},
	} {
		s := h.signIn(c.key)
		sse := h.follow(h.path(x.ID, "/stream"), s.headers()...)
		socket := h.socket(x.ID, "Authorization", "", "Cookie", s.cookie, "Sec-WebSocket-Protocol", s.protocols(), "Origin", h.url)
		c.end(s)
		var err error
		for err == nil {
			_, _, err = socket.conn.Read(socket.ctx)
		}
		if websocket.CloseStatus(err) != websocket.StatusPolicyViolation {
			t.Errorf("%s: the socket ends with %v", c.what, err)
		}
		for {
			if _, err := sse.next(); err != nil {
				break
			}
		}
	}
}

// The cookie's name depends on the address under which browsers open the pages.
func TestCookiesAreNamedForTheirAddress(t *testing.T) {
	for public, want := range map[string]string{
		"https://perdure.example.com": "__Host-perdure", "https://perdure.example.com:443": "__Host-perdure", "https://perdure.example.com:8443": "__Host-perdure_8443",
		"http://perdure.example.com": "perdure_80", "http://perdure.example.com:81": "perdure_81",
	} {
		h := open(t, func(c *httpapi.Config) {
			var err error
			if c.PublicURL, err = url.Parse(public); err != nil {
				t.Fatal(err)
			}
		})
		origin := strings.TrimSuffix(public, ":443")
		h.call("POST", "./api/login", `{"key":"`+h.client+`"}`, "Authorization", "", "Origin", h.url).problem(403, "permission_denied", "")
		set := h.call("POST", "./api/login", `{"key":"`+h.client+`"}`, "Authorization", "", "Origin", origin).want(200, nil).header
		cookie := (&http.Response{Header: set}).Cookies()[0]
		secure := strings.HasPrefix(public, "https")
		if cookie.Name != want || cookie.Secure != secure || cookie.Domain != "" || cookie.Path != "/" || !cookie.HttpOnly {
			t.Errorf("%s: %s", public, set.Get("Set-Cookie"))
		}
		s := h.signIn(h.client, "Origin", origin)
		h.call("GET", "/sessions", "", s.headers()...).want(200, nil)
		body := `{"userPrompt":"hi",` + models + `}`
		h.call("POST", "/agent-executions", body, s.headers("Origin", origin)...).want(201, nil)
		h.call("POST", "/agent-executions", body, s.headers("Origin", h.url)...).problem(403, "permission_denied", "")
	}
}

// A session is not valid at another port, because the cookie there has another name.
func TestCookiesAreOfOnePort(t *testing.T) {
	h := open(t)
	s := h.signIn(h.client)
	h.call("GET", "/sessions", "", s.headers()...).want(200, nil)
	h.call("GET", "/sessions", "", s.headers("Host", "127.0.0.1:1")...).problem(401, "unauthenticated", "")
}
