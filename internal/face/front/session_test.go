package front_test

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
	"github.com/perdure/perdure/internal/face"
	"github.com/perdure/perdure/internal/face/facetest"
)

// sessions returns the sessions that the key in the headers may see.
func (h *testServer) sessions(headers ...string) (all []perdure.Session) {
	h.T.Helper()
	var list struct{ Items []perdure.Session }
	if err := json.Unmarshal(h.Call("GET", "/sessions", "", headers...).Want(200, nil).Body, &list); err != nil {
		h.T.Fatal(err)
	}
	return list.Items
}

func TestLoginAnswersWithOneHalf(t *testing.T) {
	h := open(t)
	r := h.Call("POST", "./api/login", `{"key":"`+h.ClientKey+`"}`, "Authorization", "")
	var reply struct {
		Org, Role, Session string
		SessionID          uuid.UUID
		ExpiresAt          perdure.Time
	}
	r.Want(200, &reply)
	if reply.Org != "default" || reply.Role != "client" || len(reply.Session) < 32 || reply.SessionID == uuid.Nil || reply.ExpiresAt.IsZero() {
		t.Errorf("the answer is %s", r.Body)
	}
	cookie, _, _ := strings.Cut(strings.TrimPrefix(r.Header.Get("Set-Cookie"), "perdure_"+h.Port()+"="), ";")
	if strings.Contains(string(r.Body), cookie) || len(cookie) < 32 {
		t.Errorf("the cookie %q is in the body %s", cookie, r.Body)
	}
}

// TestSessionsAreListedAndRevoked checks that an admin's key can list and end all sessions of its
// org, and a client's key only its own sessions. For other sessions the error is not_found.
func TestSessionsAreListedAndRevoked(t *testing.T) {
	h := open(t)
	mine, other, admins := h.SignIn(h.ClientKey), h.SignIn(h.Key("client")), h.SignIn(h.AdminKey)
	list := h.sessions("Authorization", "Bearer "+h.AdminKey)
	if len(list) != 3 {
		t.Fatalf("an admin sees %+v", list)
	}
	for i, want := range []facetest.Browser{mine, other, admins} {
		got := list[i]
		if got.ID != want.ID || got.KeyID == nil || got.Current || got.UserAgent != "Test 1" || !strings.HasPrefix(got.RemoteAddress, "127.0.0.1:") ||
			got.ExpiresAt.Sub(got.CreatedAt.Time) != perdure.SessionLife {
			t.Errorf("session %d is %+v", i, got)
		}
	}
	if list := h.sessions(mine.Headers()...); len(list) != 1 || list[0].ID != mine.ID || !list[0].Current {
		t.Errorf("a client sees %+v", list)
	}
	if list := h.sessions(); len(list) != 1 || list[0].Current {
		t.Errorf("with the key it sees %+v", list)
	}
	h.Call("DELETE", "/sessions/"+other.ID.String(), "").Problem(404, "not_found", "")
	h.Call("DELETE", "/sessions/"+uuid.NewString(), "").Problem(404, "not_found", "")
	h.Call("DELETE", "/sessions/"+mine.ID.String(), "").Want(200, nil)
	h.Call("GET", "/sessions", "", mine.Headers()...).Problem(401, "unauthenticated", "")
	h.Call("DELETE", "/sessions/"+mine.ID.String(), "").Problem(404, "not_found", "")
	h.Call("DELETE", "/sessions/"+other.ID.String(), "", "Authorization", "Bearer "+h.AdminKey).Want(200, nil)
	h.Call("GET", "/sessions", "", other.Headers()...).Problem(401, "unauthenticated", "")
	h.Call("GET", "/sessions", "", admins.Headers()...).Want(200, nil)
	h.Call("GET", "/sessions?cursor=x", "").Problem(400, "invalid_argument", "cursor")
}

func TestSessionsArePaged(t *testing.T) {
	h := open(t)
	for range 5 {
		h.SignIn(h.ClientKey)
	}
	var seen []uuid.UUID
	for path := "/sessions?limit=2"; path != ""; {
		var page struct {
			Items      []perdure.Session
			NextCursor *string
		}
		if err := json.Unmarshal(h.Call("GET", path, "").Want(200, nil).Body, &page); err != nil {
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

// TestLogoutNeedsBothHalves checks that a sign-out needs both halves of the same session; otherwise
// the session stays valid.
func TestLogoutNeedsBothHalves(t *testing.T) {
	h := open(t)
	one, two := h.SignIn(h.ClientKey), h.SignIn(h.ClientKey)
	for _, headers := range [][]string{
		{"Cookie", one.Cookie}, {"Perdure-Session", one.Half}, {"Cookie", one.Cookie, "Perdure-Session", two.Half}, {},
	} {
		h.Call("POST", "./api/logout", "", append(headers, "Authorization", "")...).Want(204, nil)
	}
	h.Call("GET", "/sessions", "", one.Headers()...).Want(200, nil)
	h.Call("GET", "/sessions", "", two.Headers()...).Want(200, nil)
}

// TestStreamsEndWithTheirSession checks that signing out, revoking the session or its key, and
// disabling the org each end the session's streams and WebSockets.
func TestStreamsEndWithTheirSession(t *testing.T) {
	h := open(t, func(c *face.Config) { c.RecheckEvery = time.Millisecond })
	x := h.Start("")
	if _, err := h.Engine.CreateOrg(t.Context(), "default"); err != nil && !perdure.IsCode(err, perdure.AlreadyExists) {
		t.Fatal(err)
	}
	brief, secret, err := h.Engine.CreateKey(t.Context(), "default", "brief", "client")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		what, key string
		end       func(facetest.Browser)
	}{
		{"logout", h.ClientKey, func(s facetest.Browser) {
			h.Call("POST", "./api/logout", "", s.Headers("Origin", h.URL)...).Want(204, nil)
		}},
		{"revocation", h.ClientKey, func(s facetest.Browser) {
			h.Call("DELETE", "/sessions/"+s.ID.String(), "", "Authorization", "Bearer "+h.AdminKey).Want(200, nil)
		}},
		{"revocation of the key", secret, func(facetest.Browser) {
			h.Call("DELETE", "/keys/"+brief.ID.String(), "", "Authorization", "Bearer "+h.AdminKey).Want(200, nil)
		}},
		{"the org's end", h.ClientKey, func(facetest.Browser) {
			if _, err := h.Engine.DisableOrg(t.Context(), "default"); err != nil {
				t.Fatal(err)
			}
		}},
	} {
		s := h.SignIn(c.key)
		stream := h.Follow(h.Path(x.ID, "/stream"), s.Headers()...)
		socket := h.Socket(x.ID, "Authorization", "", "Cookie", s.Cookie, "Sec-WebSocket-Protocol", s.Protocols(), "Origin", h.URL)
		c.end(s)
		var err error
		for err == nil {
			_, _, err = socket.Conn.Read(socket.Ctx)
		}
		if websocket.CloseStatus(err) != websocket.StatusPolicyViolation {
			t.Errorf("%s: the socket ends with %v", c.what, err)
		}
		for {
			if _, err := stream.Next(); err != nil {
				break
			}
		}
	}
}

// TestCookiesAreNamedForTheirAddress checks that the name of the session cookie depends on the
// address under which browsers open the pages.
func TestCookiesAreNamedForTheirAddress(t *testing.T) {
	for public, want := range map[string]string{
		"https://perdure.example.com": "__Host-perdure", "https://perdure.example.com:443": "__Host-perdure", "https://perdure.example.com:8443": "__Host-perdure_8443",
		"http://perdure.example.com": "perdure_80", "http://perdure.example.com:81": "perdure_81",
	} {
		h := open(t, func(c *face.Config) {
			var err error
			if c.PublicURL, err = url.Parse(public); err != nil {
				t.Fatal(err)
			}
		})
		origin := strings.TrimSuffix(public, ":443")
		h.Call("POST", "./api/login", `{"key":"`+h.ClientKey+`"}`, "Authorization", "", "Origin", h.URL).Problem(403, "permission_denied", "")
		set := h.Call("POST", "./api/login", `{"key":"`+h.ClientKey+`"}`, "Authorization", "", "Origin", origin).Want(200, nil).Header
		cookie := (&http.Response{Header: set}).Cookies()[0]
		secure := strings.HasPrefix(public, "https")
		if cookie.Name != want || cookie.Secure != secure || cookie.Domain != "" || cookie.Path != "/" || !cookie.HttpOnly {
			t.Errorf("%s: %s", public, set.Get("Set-Cookie"))
		}
		s := h.SignIn(h.ClientKey, "Origin", origin)
		h.Call("GET", "/sessions", "", s.Headers()...).Want(200, nil)
		body := `{"userPrompt":"hi",` + models + `}`
		h.Call("POST", "/agent-executions", body, s.Headers("Origin", origin)...).Want(201, nil)
		h.Call("POST", "/agent-executions", body, s.Headers("Origin", h.URL)...).Problem(403, "permission_denied", "")
	}
}

// TestCookiesAreOfOnePort checks that a session at one port is not valid at another port of the
// same host, because the cookie has another name there.
func TestCookiesAreOfOnePort(t *testing.T) {
	h := open(t)
	s := h.SignIn(h.ClientKey)
	h.Call("GET", "/sessions", "", s.Headers()...).Want(200, nil)
	h.Call("GET", "/sessions", "", s.Headers("Host", "127.0.0.1:1")...).Problem(401, "unauthenticated", "")
}
