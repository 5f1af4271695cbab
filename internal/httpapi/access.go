package httpapi

import (
	"context"
	"crypto/sha256"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// caller identifies who sent a request.
type caller struct {
	org  string
	role perdure.KeyRole
	id   uuid.UUID // of the key; zero if the key is not stored
	name string
	key  perdure.Hash // hash of the key's secret, also with a session
	// proof is kept for the periodic recheck while a stream is open.
	proof     proof
	sessionID uuid.UUID // zero without a session
	// operator is set for the token of a data directory; org is then the org that the request
	// names.
	operator bool
}

// actor returns the caller as the audit log records it.
func (c caller) actor(r *http.Request, request string) perdure.Actor {
	a := perdure.Actor{Name: c.name, RequestID: request, RemoteAddress: remoteAddress(r)}
	if c.id != uuid.Nil {
		a.KeyID = &c.id
	}
	return a
}

// remoteAddress returns the peer address of the request's connection; "local" for the unix socket,
// whose peers have no address.
func remoteAddress(r *http.Request) string {
	if at, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr); ok && at.Network() == "unix" {
		return "local"
	}
	return r.RemoteAddr
}

type callerKey struct{}

func callerOf(ctx context.Context) caller {
	c, _ := ctx.Value(callerKey{}).(caller)
	return c
}

// proofOf returns the proof of identity that a request carries, and reports whether there is one.
// If the header Authorization is present, the cookie is ignored.
func (s *server) proofOf(r *http.Request) (proof, bool) {
	if auth := r.Header.Get("Authorization"); auth != "" {
		scheme, rest, _ := strings.Cut(auth, " ")
		secret := strings.TrimSpace(rest)
		return proof{key: sha256.Sum256([]byte(secret))}, strings.EqualFold(scheme, "bearer") && secret != ""
	}
	cookie, page := s.halvesOf(r)
	return proof{session: true, cookie: sha256.Sum256([]byte(cookie)), page: sha256.Sum256([]byte(page))}, cookie != "" && page != ""
}

const (
	howToGiveKey = "give a key in the header Authorization: Bearer KEY, or sign in with POST /api/login, " +
		"whose cookie counts together with the header " + sessionHeader + "; in dev mode the key is in the file named token in the data directory"
	howToSignIn = "sign in again with POST /api/login"
)

// authenticate returns the caller of a request. A page of another origin can make a browser send a
// request, so a write with a session must come from the server's own pages.
func (s *server) authenticate(r *http.Request) (caller, *problem) {
	given, any := s.proofOf(r)
	if !any {
		return caller{}, newProblem(perdure.Unauthenticated, "no key was given; "+howToGiveKey)
	}
	key, session, err := s.vouch(r.Context(), given)
	switch {
	case !perdure.IsCode(err, perdure.Unauthenticated):
	case given.session:
		return caller{}, newProblem(perdure.Unauthenticated, "the session is unknown or has ended, or its key is revoked; "+howToSignIn)
	default:
		return caller{}, newProblem(perdure.Unauthenticated, "the key is unknown or revoked; "+howToGiveKey)
	}
	if err != nil {
		return caller{}, s.problemOf(r.Context(), err)
	}
	org, err := s.orgFor(r, key)
	if err != nil {
		return caller{}, s.problemOf(r.Context(), err)
	}
	if given.session && isWrite(r) && !s.ownOrigin(r) {
		return caller{}, newProblem(perdure.PermissionDenied, "a request that writes and carries a session must come from this server's own pages (Origin)")
	}
	if err := s.Engine.Request(key); err != nil {
		return caller{}, s.problemOf(r.Context(), err)
	}
	c := caller{org: org, operator: key.Operator, role: key.Role, id: key.ID, name: key.Name, key: given.key, proof: given}
	if session != nil {
		c.key, c.sessionID = session.Key, session.ID
	}
	return c, nil
}

func isWrite(r *http.Request) bool {
	return r.Method != http.MethodGet && r.Method != http.MethodHead && r.Method != http.MethodOptions
}

// ownOrigin reports whether the page that made a browser send the request belongs to this server.
// If a public URL is configured, only pages of that URL do, besides the configured origins.
func (s *server) ownOrigin(r *http.Request) bool {
	origin := r.Header.Get("Origin")
	if slices.Contains(s.Origins, origin) {
		return true
	}
	if s.PublicURL != nil {
		return origin == originOf(s.PublicURL)
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

// ownHost reports whether the Host header names this server.
func (s *server) ownHost(r *http.Request) bool {
	if len(s.Hosts) == 0 {
		return true
	}
	name := (&url.URL{Host: r.Host}).Hostname()
	return slices.ContainsFunc(s.Hosts, func(h string) bool {
		return strings.EqualFold(h, r.Host) || strings.EqualFold(strings.Trim(h, "[]"), name)
	})
}

// ownOrg rejects requests for another org, which gets the same answer as an org that does not
// exist. It also rejects workers' keys, which are for gRPC.
func (s *server) ownOrg(ctx huma.Context, next func(huma.Context)) {
	if p := strange(callerOf(ctx.Context()), ctx.Param("org")); p != nil {
		s.refuse(ctx, p)
		return
	}
	next(ctx)
}

// strange returns the reason why a caller may not use the org; nil if it may.
func strange(c caller, org string) *problem {
	switch {
	case org != c.org:
		return newProblem(perdure.NotFound, "there is no such org for this key")
	case c.role != perdure.KeyAdmin && c.role != perdure.KeyClient:
		return newProblem(perdure.PermissionDenied, "a key of role "+string(c.role)+" may not use the client API")
	}
	return nil
}

// admin rejects callers whose role is not admin.
func (s *server) admin(ctx huma.Context, next func(huma.Context)) {
	if callerOf(ctx.Context()).role != perdure.KeyAdmin {
		s.refuse(ctx, newProblem(perdure.PermissionDenied, "only a key of role admin may do this"))
		return
	}
	next(ctx)
}
