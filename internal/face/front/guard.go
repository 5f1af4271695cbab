package front

import (
	"net/http"
	"path"
	"slices"
	"strings"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/face/problem"
)

// Access states which callers may use a route that needs a key.
type Access int

// Admin admits keys of the role admin, for their own org. It is the zero value, so a route without
// an explicit Access is closed to other roles. Client also admits the role client. Approver admits
// the roles admin, client and approver. Operator admits only the token of the server's data
// directory, for all orgs.
const (
	Admin Access = iota
	Client
	Approver
	Operator
)

// admits reports whether the access admits keys of the role.
func (a Access) admits(role perdure.KeyRole) bool {
	switch role {
	case perdure.KeyAdmin:
		return a != Operator
	case perdure.KeyClient:
		return a == Client || a == Approver
	case perdure.KeyApprover:
		return a == Approver
	case perdure.KeyWorker:
	}
	return false
}

// A request below OrgsPath or StreamsPath needs a key even if it matches no route.
const (
	// OrgsPath is the path of the list of orgs; the paths of each org are below it.
	OrgsPath = "/api/orgs"
	// OrgPath is the prefix of the routes of an org.
	OrgPath = OrgsPath + "/{org}"
	// StreamsPath is the prefix of the paths of the Durable Streams protocol.
	StreamsPath = "/v1/stream/"
)

// LinkRoute is the path of the page that a link to a question opens. The token in the path takes
// the place of a key.
const LinkRoute = perdure.LinkPath + "{token}"

// isLink reports whether a request is for the page of a question link. The path of such a page
// contains the link's secret token.
func isLink(r *http.Request) bool { return strings.HasPrefix(r.URL.Path, perdure.LinkPath) }

// shownPath returns the path of a request as traces and errors show it, without secrets.
func shownPath(r *http.Request) string {
	if isLink(r) {
		return LinkRoute
	}
	return r.URL.Path
}

// public lists the routes that need no key, as patterns of [path.Match]. Every other route needs
// one. The last two patterns match the files of the web pages, whose names have an extension.
var public = []string{
	"POST /api/login",
	"POST /api/logout",
	"GET /healthz",
	"GET /readyz",
	"GET /openapi.json",
	"GET /docs",
	"GET /{$}",
	"GET /ai/",
	"GET /assets/*",
	"GET " + LinkRoute,
	"POST " + LinkRoute,
	"GET /*.*",
}

// Public returns the list of the routes that need no key.
func Public() []string { return slices.Clone(public) }

// isPublic reports whether a route needs no key.
func isPublic(pattern string) bool {
	return slices.ContainsFunc(public, func(p string) bool {
		matched, err := path.Match(p, pattern)
		return err == nil && matched
	})
}

// needsKey reports whether a request needs a key. The parameter `pattern` is the route that the
// request matches. A request that matches no route needs a key if its path is below the paths of
// orgs or streams.
func needsKey(pattern, path string) bool {
	if path == OrgsPath || strings.HasPrefix(path, OrgsPath+"/") || strings.HasPrefix(path, StreamsPath) {
		return true
	}
	return pattern != "" && !isPublic(pattern)
}

// Route configures how the front handles the requests that match a pattern.
type Route struct {
	// Pattern is a pattern of [http.ServeMux]: a method and a path. A wildcard {org} is the org that
	// the caller must belong to.
	Pattern string
	// Access states which callers may use the route. It has no effect if the route is public.
	Access Access
	// Upload turns off the size limit of the request body. The handler reads the body in pieces.
	Upload bool
	// AnyType keeps the content type of a request body. Otherwise the front sets the content type
	// to JSON if it is one that tools such as curl send by default.
	AnyType bool
	// Compress allows the front to compress responses to GET. It must be false if responses contain
	// secrets: the compressed size can reveal a secret that is compressed together with text of an
	// attacker.
	Compress bool
}

// Handle registers the handler of a route. A route can be registered in no other way, so the front
// guards every route. Handle panics if the pattern is invalid or conflicts with the pattern of
// another route.
func (f *Front) Handle(route Route, h http.HandlerFunc) {
	f.routes[route.Pattern] = route
	if isPublic(route.Pattern) {
		f.mux.HandleFunc(route.Pattern, h)
		return
	}
	f.mux.HandleFunc(route.Pattern, func(w http.ResponseWriter, r *http.Request) {
		if p := refusal(CallerOf(r.Context()), route.Access, r.PathValue("org")); p != nil {
			p.Write(w)
			return
		}
		h(w, r)
	})
}

// Routes returns the patterns of all routes. It includes the routes of the mounted [Tree].
func (f *Front) Routes() []string {
	all := f.mux.Patterns()
	for _, t := range f.trees {
		all = append(all, t.Routes()...)
	}
	return all
}

// refusal returns the reason why a caller may not use a route, or nil. The parameter `org` is the
// org in the path, if the path has one. For an org other than the caller's, the error is the same
// as for an org that does not exist. Worker keys are always refused, because they are only for
// gRPC.
func refusal(c Caller, access Access, org string) *problem.Problem {
	switch {
	case access == Operator && c.Operator:
		return nil
	case access == Operator:
		return problem.New(perdure.PermissionDenied, "only an operator may do this: use the token of the server's data directory")
	case org != "" && org != c.Org:
		return problem.New(perdure.NotFound, "there is no such org for this key")
	case access.admits(c.Role):
		return nil
	case c.Role == perdure.KeyApprover:
		return problem.New(perdure.PermissionDenied, "a key of role approver may only read questions and answer them")
	case c.Role != perdure.KeyClient:
		return problem.New(perdure.PermissionDenied, "a key of role "+string(c.Role)+" may not use the client API")
	}
	return problem.New(perdure.PermissionDenied, "only a key of role admin may do this")
}

// Tree is a part of the API with its own tree of routes: it routes all paths below its prefixes
// itself, because its errors have another JSON shape. The front checks a request to a Tree like a
// request to a route with the access Client.
type Tree interface {
	// Owns reports whether this tree of routes serves a path.
	Owns(path string) bool
	// Routes returns the patterns of all routes of the tree.
	Routes() []string
	// Route returns the pattern that a request matches, without the method; "" if the request matches
	// none.
	Route(r *http.Request) string
	// Refuse sends a problem in the JSON shape that this part of the API has for errors.
	Refuse(w http.ResponseWriter, p *problem.Problem)
	http.Handler
}

// Mount adds a tree of routes. No two trees of a front own the same path.
func (f *Front) Mount(t Tree) { f.trees = append(f.trees, t) }

// treeOf returns the tree of routes that owns the path of a request, or nil.
func (f *Front) treeOf(r *http.Request) Tree {
	for _, t := range f.trees {
		if t.Owns(r.URL.Path) {
			return t
		}
	}
	return nil
}

// serveTree checks a request and passes it to a tree of routes. The request acts on the org that
// the caller's key belongs to.
func (f *Front) serveTree(t Tree, w http.ResponseWriter, r *http.Request) {
	if p := f.misdirected(r); p != nil {
		t.Refuse(w, p)
		return
	}
	if f.cors(w, r) {
		return
	}
	if p := refuseLong(r); p != nil {
		t.Refuse(w, p)
		return
	}
	w.Header().Set("Cache-Control", "no-store")
	c, p := f.authenticated(w, r)
	if p == nil {
		p = refusal(c, Client, c.Org)
	}
	if p == nil && r.ContentLength > BodyLimit {
		p = problem.TooLarge()
	}
	if p != nil {
		t.Refuse(w, p)
		return
	}
	ctx, err := f.onBehalf(r.Context(), w, r, c)
	if err != nil {
		t.Refuse(w, f.ProblemOf(ctx, err))
		return
	}
	t.ServeHTTP(w, r.WithContext(ctx))
}
