package front

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"runtime/debug"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/face/problem"
	"go.opentelemetry.io/otel/trace"
)

// Front receives every HTTP request and passes the accepted ones to the routes that were
// registered with Handle.
type Front struct {
	Config
	mux     Mux
	routes  map[string]Route // by their patterns
	trees   []Tree
	readers readers
	tracer  trace.Tracer      // nil without a TracerProvider
	watch   *streamSupervisor // watches open streams
}

// New creates a front without routes.
func New(c Config) *Front {
	f := &Front{Config: c.normal(), routes: map[string]Route{}, readers: readers{open: map[perdure.Hash]int{}}}
	f.watch = &streamSupervisor{f: f}
	if c.TracerProvider != nil {
		f.tracer = c.TracerProvider.Tracer("github.com/perdure/perdure/internal/face/front")
	}
	return f
}

type queryKey struct{}

// QueryOf returns the query parameters of the request that has the context ctx.
func QueryOf(ctx context.Context) url.Values {
	query, _ := ctx.Value(queryKey{}).(url.Values)
	return query
}

// ServeHTTP checks that a request was sent to this server, authenticates the caller, and calls the
// handler of the route.
func (f *Front) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	answer := &answer{ResponseWriter: w, c: http.NewResponseController(w), timeout: f.WriteTimeout}
	defer func() { answer.visit.Leave() }()
	if f.Observer != (noObserver{}) || f.tracer != nil {
		method, began, route := r.Method, time.Now(), f.routeOf(r)
		defer func() { f.Observer.Request(method, route, answer.code(), time.Since(began)) }()
		if f.tracer != nil {
			var span trace.Span
			r, span = f.traced(r, route)
			defer func() { ended(span, answer.code()) }()
		}
	}
	defer f.recovered(answer, r)
	answer.Header().Set("X-Content-Type-Options", "nosniff")
	answer.Header().Set("Referrer-Policy", "no-referrer")
	// The handler gets a copy of the request with another Body, because net/http looks at the Body
	// of the original request to know whether a client still waits for "100 Continue".
	body := &requestBody{ReadCloser: r.Body, c: answer.c, within: f.BodyTimeout}
	r = r.WithContext(r.Context())
	r.Body = body
	f.serve(answer, r)
	// A client that waits for "100 Continue" sends no body, so there is nothing to drain.
	waits := strings.EqualFold(r.Header.Get("Expect"), "100-continue")
	if answer.status == http.StatusRequestEntityTooLarge && !waits {
		body.drain(answer)
	}
}

func (f *Front) serve(w http.ResponseWriter, r *http.Request) {
	if t := f.treeOf(r); t != nil {
		f.serveTree(t, w, r)
		return
	}
	if p := f.misdirected(r); p != nil {
		p.Write(w)
		return
	}
	if f.cors(w, r) {
		return
	}
	if p := refuseLong(r); p != nil {
		p.Write(w)
		return
	}
	handler, pattern := f.mux.Handler(r)
	route := f.routes[pattern]
	r, p := f.identified(w, r, pattern)
	if p == nil && r.ContentLength > BodyLimit && !route.Upload {
		p = problem.TooLarge()
	}
	if p == nil && pattern == "" {
		p = unmatched(handler, w, r)
	}
	if p != nil {
		p.Write(w)
		return
	}
	if !route.AnyType {
		asJSON(r)
	}
	if !route.Compress || !compressible(r) {
		f.mux.ServeHTTP(w, r)
		return
	}
	z := compress(w, r)
	f.mux.ServeHTTP(z, r)
	z.close()
}

// authenticated returns the caller of a request. If the request has no valid key, the response says
// how to send one.
func (f *Front) authenticated(w http.ResponseWriter, r *http.Request) (Caller, *problem.Problem) {
	c, p := f.authenticate(r)
	if p != nil && p.Code == perdure.Unauthenticated {
		w.Header().Set("WWW-Authenticate", `Bearer realm="perdure"`)
	}
	return c, p
}

// identified authenticates the caller of a request, unless the request's route is public. It returns
// the request with the caller in its context.
func (f *Front) identified(w http.ResponseWriter, r *http.Request, pattern string) (*http.Request, *problem.Problem) {
	ctx := aboutExecution(r.Context(), r)
	if setsCookie(r) {
		ctx = context.WithValue(ctx, browserKey{}, f.BrowserIn(w, r))
	}
	if strings.HasPrefix(r.URL.Path, "/api/") {
		w.Header().Set("Cache-Control", "no-store")
	}
	if !needsKey(pattern, r.URL.Path) {
		return r.WithContext(ctx), nil
	}
	c, p := f.authenticated(w, r)
	if p != nil {
		return r, p
	}
	ctx, err := f.onBehalf(ctx, w, r, c)
	if err != nil {
		return r, f.ProblemOf(ctx, err)
	}
	return r.WithContext(context.WithValue(ctx, queryKey{}, r.URL.Query())), nil
}

// misdirected returns a problem if the request was sent to the wrong host or by a page of another
// site, and nil otherwise. If Config.Hosts is set, the Host header must be in it, and pages of
// other origins are refused. A request that signs in or out is refused if a page of another origin
// sends it, even if Config.Hosts is empty.
func (f *Front) misdirected(r *http.Request) *problem.Problem {
	if !f.ownHost(r) {
		return problem.New(perdure.PermissionDenied, fmt.Sprintf("this server is not %q; open it by the address that it printed", r.Host))
	}
	// A browser sends "Origin: null" with the form on the page of a question link, because that
	// page sends no referrer. The token in the path, which no other page knows, takes the place of
	// the check.
	if r.Header.Get("Origin") == "" || f.ownOrigin(r) || isLink(r) {
		return nil
	}
	if len(f.Hosts) > 0 || setsCookie(r) {
		return problem.New(perdure.PermissionDenied, "a page of another origin may not use this server")
	}
	return nil
}

// setsCookie reports whether the request signs in or out, which changes the browser's session
// cookie.
func setsCookie(r *http.Request) bool {
	return r.URL.Path == "/api/login" || r.URL.Path == "/api/logout"
}

// asJSON sets the content type of a request to JSON if it is one that tools such as curl send by
// default. If the body is not JSON, the handler refuses it.
func asJSON(r *http.Request) {
	switch ct, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";"); strings.TrimSpace(strings.ToLower(ct)) {
	case "application/x-www-form-urlencoded", "text/plain", "application/json":
		r.Header.Set("Content-Type", "application/json")
	}
}

// unmatched returns the problem of a request that matches no route. The parameter `h` is the
// handler that the mux returns for such requests.
func unmatched(h http.Handler, w http.ResponseWriter, r *http.Request) *problem.Problem {
	probe := &probe{header: http.Header{}}
	h.ServeHTTP(probe, r)
	if allow := probe.header.Get("Allow"); allow != "" {
		w.Header().Set("Allow", allow)
		p := problem.New(perdure.InvalidArgument, fmt.Sprintf("%s is not possible here; possible: %s", r.Method, allow))
		p.Status = http.StatusMethodNotAllowed
		return p
	}
	return problem.New(perdure.NotFound, fmt.Sprintf("there is nothing at %s; /docs lists what there is", shownPath(r)))
}

// probe is a response writer that stores the headers of a response, and discards its status and
// body.
type probe struct{ header http.Header }

func (p *probe) Header() http.Header         { return p.header }
func (p *probe) Write(b []byte) (int, error) { return len(b), nil }
func (p *probe) WriteHeader(int)             {}

// recovered turns a panic into an error response, which has the same id as the log line of the
// panic. It passes on http.ErrAbortHandler, with which a handler resets a stream.
func (f *Front) recovered(w *answer, r *http.Request) {
	cause := recover()
	if cause == nil {
		return
	}
	if err, ok := cause.(error); (ok && errors.Is(err, http.ErrAbortHandler)) || r.Context().Err() != nil {
		panic(http.ErrAbortHandler)
	}
	id := uuid.NewString()
	f.Logger.ErrorContext(r.Context(), "panic", slog.String("error_id", id), slog.Any("panic", cause), slog.String("stack", string(debug.Stack())))
	if w.status != 0 {
		panic(http.ErrAbortHandler)
	}
	problem.New(perdure.Internal, "an error inside the server; it is in the server's log as "+id).Write(w)
}
