package front

import (
	"context"
	"crypto/sha256"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/face/problem"
)

// Caller is the identity of whoever sent a request: the org, the key and its role.
type Caller struct {
	Org  string
	Role perdure.KeyRole
	ID   uuid.UUID // id of the key; zero if the key is not stored
	Name string
	Key  perdure.Hash // hash of the key's secret; set for a session too
	// proof is the key or session of the request. While a stream is open, the front checks at
	// intervals that the key or session is still valid.
	proof     proof
	SessionID uuid.UUID // zero if the caller has no session
	// Operator is set if the request has the token of the server's data directory. Org is then the org
	// that the request names.
	Operator bool
}

// actor returns the caller in the form in which the audit log records it. The parameter `request`
// is the id of the request r.
func (c Caller) actor(r *http.Request, request string) perdure.Actor {
	a := perdure.Actor{Name: c.Name, RequestID: request, RemoteAddress: remoteAddress(r)}
	if c.ID != uuid.Nil {
		a.KeyID = &c.ID
	}
	return a
}

// remoteAddress returns the network address of the other end of the connection. For the unix
// socket, whose clients have no address, it returns "local".
func remoteAddress(r *http.Request) string {
	if at, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr); ok && at.Network() == "unix" {
		return "local"
	}
	return r.RemoteAddr
}

// PeerAddress returns the IP address of the client. If PublicURL is set, the connection comes from
// a proxy, and the result is the address that the proxy has added to X-Forwarded-For.
func (f *Front) PeerAddress(r *http.Request) string {
	if f.PublicURL != nil {
		forwarded := strings.Join(r.Header.Values("X-Forwarded-For"), ",")
		if last := strings.TrimSpace(forwarded[strings.LastIndex(forwarded, ",")+1:]); net.ParseIP(last) != nil {
			return last
		}
	}
	address := remoteAddress(r)
	if host, _, err := net.SplitHostPort(address); err == nil {
		return host
	}
	return address
}

// BaseURL returns the URL at which people reach the server: PublicURL if it is set, and otherwise
// the address to which the request was sent. For a request over the unix socket, BaseURL returns
// the address at which the server listens for HTTP, or nil if the server does not listen for HTTP.
func (f *Front) BaseURL(r *http.Request) *url.URL {
	at, known := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	switch {
	case f.PublicURL != nil:
		return f.PublicURL
	case known && at.Network() == "tcp":
		return requestURL(r)
	case f.Address != nil:
		return f.Address()
	}
	return nil
}

// requestURL returns the scheme and the host that a request was sent to.
func requestURL(r *http.Request) *url.URL {
	at := url.URL{Scheme: "http", Host: r.Host}
	if r.TLS != nil {
		at.Scheme = "https"
	}
	return &at
}

type callerKey struct{}

// CallerOf returns the caller in the context of a request. It returns the zero value if the route
// needs no key.
func CallerOf(ctx context.Context) Caller {
	c, _ := ctx.Value(callerKey{}).(Caller)
	return c
}

// proofOf returns the key or session that a request contains, and reports whether the request
// contains either. If the header Authorization is present, the session's cookie is ignored.
func (f *Front) proofOf(r *http.Request) (proof, bool) {
	if auth := r.Header.Get("Authorization"); auth != "" {
		scheme, rest, _ := strings.Cut(auth, " ")
		secret := strings.TrimSpace(rest)
		return proof{key: sha256.Sum256([]byte(secret))}, strings.EqualFold(scheme, "bearer") && secret != ""
	}
	cookie, page := f.halvesOf(r)
	return proof{session: true, cookie: sha256.Sum256([]byte(cookie)), page: sha256.Sum256([]byte(page))}, cookie != "" && page != ""
}

const (
	// HowToGiveKey is the end of the error message for a missing or unknown key.
	HowToGiveKey = "give a key in the header Authorization: Bearer KEY, or sign in with POST /api/login, " +
		"whose cookie counts together with the header " + SessionHeader + "; in dev mode the key is in the file named token in the data directory"
	howToSignIn = "sign in again with POST /api/login"
)

// authenticate returns the caller of a request. A write with a session must come from the server's
// own pages, because the browser also sends the session's cookie with requests that other sites'
// pages make.
func (f *Front) authenticate(r *http.Request) (Caller, *problem.Problem) {
	given, any := f.proofOf(r)
	if !any {
		return Caller{}, problem.New(perdure.Unauthenticated, "no key was given; "+HowToGiveKey)
	}
	key, session, err := f.verify(r.Context(), given)
	switch {
	case !perdure.IsCode(err, perdure.Unauthenticated):
	case given.session:
		return Caller{}, problem.New(perdure.Unauthenticated, "the session is unknown or has ended, or its key is revoked; "+howToSignIn)
	default:
		return Caller{}, problem.New(perdure.Unauthenticated, "the key is unknown or revoked; "+HowToGiveKey)
	}
	if err != nil {
		return Caller{}, f.ProblemOf(r.Context(), err)
	}
	org, err := f.orgFor(r, key)
	if err != nil {
		return Caller{}, f.ProblemOf(r.Context(), err)
	}
	if given.session && isWrite(r) && !f.ownOrigin(r) {
		return Caller{}, problem.New(perdure.PermissionDenied, "a request that writes and carries a session must come from this server's own pages (Origin)")
	}
	if err := f.Engine.Request(key); err != nil {
		return Caller{}, f.ProblemOf(r.Context(), err)
	}
	c := Caller{Org: org, Operator: key.Operator, Role: key.Role, ID: key.ID, Name: key.Name, Key: given.key, proof: given}
	if session != nil {
		c.Key, c.SessionID = session.Key, session.ID
	}
	return c, nil
}

func isWrite(r *http.Request) bool {
	return r.Method != http.MethodGet && r.Method != http.MethodHead && r.Method != http.MethodOptions
}

// ownOrigin reports whether the page that made a browser send the request is a page of this server,
// or of a configured origin. If PublicURL is set, the pages of this server are the pages at that
// URL.
func (f *Front) ownOrigin(r *http.Request) bool {
	origin := r.Header.Get("Origin")
	if slices.Contains(f.Origins, origin) {
		return true
	}
	if f.PublicURL != nil {
		return origin == originOf(f.PublicURL)
	}
	u, err := url.Parse(origin)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && strings.EqualFold(u.Host, r.Host)
}

// originOf returns a URL's origin as browsers send it: in lower case, and without the default port
// of the scheme.
func originOf(u *url.URL) string {
	host := strings.ToLower(u.Host)
	if port := u.Port(); u.Scheme == "https" && port == "443" || u.Scheme == "http" && port == "80" {
		host = strings.TrimSuffix(host, ":"+port)
	}
	return u.Scheme + "://" + host
}

// ownHost reports whether the Host header of the request names this server.
func (f *Front) ownHost(r *http.Request) bool {
	if len(f.Hosts) == 0 {
		return true
	}
	name := (&url.URL{Host: r.Host}).Hostname()
	return slices.ContainsFunc(f.Hosts, func(h string) bool {
		return strings.EqualFold(h, r.Host) || strings.EqualFold(strings.Trim(h, "[]"), name)
	})
}

// orgFor returns the org on which a request acts. A stored key belongs to one org. An operator may
// name any org in the path. Except in operations on orgs themselves, that org must exist and be
// enabled. Errors: not_found, permission_denied.
func (f *Front) orgFor(r *http.Request, key *perdure.APIKey) (string, error) {
	if !key.Operator {
		return key.Org, nil
	}
	org, rest := key.Org, "-"
	if below, ok := strings.CutPrefix(r.URL.Path, OrgsPath); ok {
		below = strings.Trim(below, "/")
		org, rest, _ = strings.Cut(below, "/")
	}
	switch rest {
	case "", "disable", "enable":
		return org, nil
	}
	if org != perdure.DefaultOrg {
		if _, err := f.Engine.Org(r.Context(), org); err != nil {
			return "", err
		}
	}
	return org, f.Engine.OrgWorks(r.Context(), org)
}

// ForeignSocket returns a problem if a page of another origin opens a WebSocket with the session of
// the browser, and nil otherwise.
func (f *Front) ForeignSocket(r *http.Request) *problem.Problem {
	if CallerOf(r.Context()).proof.session && !f.ownOrigin(r) {
		return problem.New(perdure.PermissionDenied, "a WebSocket with a session must come from this server's own pages (Origin)")
	}
	return nil
}
