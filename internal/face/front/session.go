package front

import (
	"context"
	"crypto/sha256"
	"net/http"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/engine/tenants"
	"github.com/perdure/perdure/internal/store"
)

const (
	// SessionHeader is the header with the half of a session's secret that the web page stores. The
	// other half is in the cookie. Pages of other origins cannot send this header, because CORS
	// does not allow it.
	SessionHeader = "Perdure-Session"
	// SocketProtocol is the WebSocket subprotocol that the server selects. A browser cannot add
	// headers to a WebSocket request, so a page sends its half of the session as a second
	// subprotocol, which begins with sessionProtocol. The server selects SocketProtocol and not the
	// second one, so that the response does not contain the secret.
	SocketProtocol  = "perdure"
	sessionProtocol = "perdure.session."
)

// proof identifies the sender of a request: it is the hash of a key's secret, or the hashes of the
// two halves of a session.
type proof struct {
	key          perdure.Hash
	session      bool
	cookie, page perdure.Hash
}

// halvesOf returns the two halves of a session's secret from a request: the cookie's and the
// page's. A missing half is "".
func (f *Front) halvesOf(r *http.Request) (cookie, page string) {
	if c, err := r.Cookie(f.cookieFor(r).Name); err == nil {
		cookie = c.Value
	}
	if page = r.Header.Get(SessionHeader); page == "" && strings.EqualFold(r.Header.Get("Upgrade"), "websocket") {
		page = offeredHalf(r.Header)
	}
	return cookie, page
}

// offeredHalf returns the page's half of a session's secret from the subprotocols of a WebSocket
// request, or "".
func offeredHalf(h http.Header) string {
	for _, line := range h.Values("Sec-WebSocket-Protocol") {
		for protocol := range strings.SplitSeq(line, ",") {
			if half, ok := strings.CutPrefix(strings.TrimSpace(protocol), sessionProtocol); ok {
				return half
			}
		}
	}
	return ""
}

// cookieFor returns the session cookie for a browser, without a value. The cookie's name contains
// the port, because browsers send the cookies of a host to all of its ports. Over https, the name
// begins with __Host-, so that other hosts of the domain, and pages without TLS, cannot set the
// cookie.
func (f *Front) cookieFor(r *http.Request) http.Cookie {
	at := requestURL(r)
	if f.PublicURL != nil {
		at = f.PublicURL
	}
	c := http.Cookie{Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode}
	port := at.Port()
	switch {
	case at.Scheme != "https" && port == "":
		c.Name = "perdure_80"
	case at.Scheme != "https":
		c.Name = "perdure_" + port
	case port == "" || port == "443":
		c.Name, c.Secure = "__Host-perdure", true
	default:
		c.Name, c.Secure = "__Host-perdure_"+port, true
	}
	return c
}

// verify returns the key that a proof stands for, and the session if the proof is a session.
// Errors: unauthenticated; permission_denied if the key's org is disabled.
func (f *Front) verify(ctx context.Context, p proof) (*perdure.APIKey, *perdure.Session, error) {
	if !p.session {
		key, err := f.Auth.KeyOf(ctx, p.key)
		return key, nil, err
	}
	session, err := f.Engine.Session(ctx, p.cookie, p.page)
	if err != nil {
		return nil, nil, err
	}
	key, err := f.Auth.KeyOf(ctx, session.Key)
	return key, session, err
}

// Browser describes the sender of a request that signs in or out, or uses a link.
type Browser struct {
	cookie            http.Cookie
	halves            proof
	requestID, remote string
	agent             string
}

type browserKey struct{}

// BrowserOf returns the Browser in the context of a request that signs in or out.
func BrowserOf(ctx context.Context) Browser {
	b, _ := ctx.Value(browserKey{}).(Browser)
	return b
}

// BrowserIn returns the Browser that sent a request. It also sets the response header with the
// request id.
func (f *Front) BrowserIn(w http.ResponseWriter, r *http.Request) Browser {
	cookie, page := f.halvesOf(r)
	b := Browser{cookie: f.cookieFor(r), requestID: requestID(r), remote: remoteAddress(r), agent: r.UserAgent()}
	w.Header().Set(requestIDHeader, b.requestID)
	b.halves = proof{session: true, cookie: sha256.Sum256([]byte(cookie)), page: sha256.Sum256([]byte(page))}
	return b
}

// Actor returns the browser as the audit log records it. The parameters are the name and the id of
// the key on whose behalf the browser acts.
func (b Browser) Actor(name string, id *uuid.UUID) perdure.Actor {
	return perdure.Actor{KeyID: id, Name: name, RequestID: b.requestID, RemoteAddress: b.remote}
}

// Hold returns the cookie with which the browser stores its half of a session.
func (b Browser) Hold(half string) *http.Cookie {
	b.cookie.Value, b.cookie.MaxAge = half, int(perdure.SessionLife/time.Second)
	return &b.cookie
}

// Drop returns a cookie that deletes the browser's half of the session.
func (b Browser) Drop() *http.Cookie {
	b.cookie.MaxAge = -1
	return &b.cookie
}

// SignIn starts a session for the key with the given secret.
func (f *Front) SignIn(ctx context.Context, secret string, b Browser) (*perdure.Session, tenants.SessionHalves, *perdure.APIKey, error) {
	hash := perdure.Hash(sha256.Sum256([]byte(secret)))
	key, err := f.Auth.KeyOf(ctx, hash)
	if err != nil {
		return nil, tenants.SessionHalves{}, nil, err
	}
	if err := f.Engine.Request(key); err != nil {
		return nil, tenants.SessionHalves{}, nil, err
	}
	var id *uuid.UUID
	if key.ID != uuid.Nil {
		id = &key.ID
	}
	ctx = store.By(ctx, b.Actor(key.Name, id))
	session, halves, err := f.Engine.StartSession(ctx, tenants.SessionRequest{Key: key, Secret: hash, RemoteAddress: b.remote, UserAgent: b.agent})
	return session, halves, key, err
}

// SignOut ends the session of the browser. It does nothing if the two halves that the browser has
// sent are not those of one session.
func (f *Front) SignOut(ctx context.Context, b Browser) error {
	session, err := f.Engine.Session(ctx, b.halves.cookie, b.halves.page)
	if perdure.IsCode(err, perdure.Unauthenticated) {
		return nil // the proof is not valid
	}
	if err != nil {
		return err
	}
	ctx = store.By(ctx, b.Actor(session.KeyName, session.KeyID))
	_, err = f.Engine.EndSession(ctx, session.Org, session.ID, func(*perdure.Session) bool { return true })
	if perdure.IsCode(err, perdure.NotFound) {
		return nil // the session has ended in the meantime
	}
	return err
}
