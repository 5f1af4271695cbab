package httpapi

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/fair"
	"github.com/perdure/perdure/internal/openaiapi"
	"go.opentelemetry.io/otel/trace"
)

type queryKey struct{}

// front handles every request first: it checks the target, authenticates the caller, and finds the
// operation.
func (s *server) front() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer := &answer{ResponseWriter: w, c: http.NewResponseController(w), timeout: s.WriteTimeout}
		defer func() { answer.visit.Leave() }()
		if s.Observer != (nobody{}) || s.tracer != nil {
			method, began, route := r.Method, time.Now(), s.routeOf(r)
			defer func() { s.Observer.Request(method, route, answer.code(), time.Since(began)) }()
			if s.tracer != nil {
				var span trace.Span
				r, span = s.traced(r, route)
				defer func() { ended(span, answer.code()) }()
			}
		}
		defer s.recovered(answer, r)
		answer.Header().Set("X-Content-Type-Options", "nosniff")
		answer.Header().Set("Referrer-Policy", "no-referrer")
		// Change a copy of the request: the server uses the Body of its own to know whether a
		// client still waits for "100 Continue".
		body := &kept{ReadCloser: r.Body, c: answer.c, within: s.BodyTimeout}
		r = r.WithContext(r.Context())
		r.Body = body
		s.serve(answer, r)
		// A client that waits for "100 Continue" sends no body, so there is nothing to drain.
		waits := strings.EqualFold(r.Header.Get("Expect"), "100-continue")
		if answer.status == http.StatusRequestEntityTooLarge && !waits {
			body.drain(answer)
		}
	})
}

func (s *server) serve(w http.ResponseWriter, r *http.Request) {
	if openaiapi.Owns(r.URL.Path) {
		s.serveOpenAI(w, r)
		return
	}
	if p := s.misdirected(r); p != nil {
		p.write(w)
		return
	}
	if s.cors(w, r) {
		return
	}
	if p := overlong(r); p != nil {
		p.write(w)
		return
	}
	ctx := aboutExecution(r.Context(), r)
	if setsCookie(r) {
		ctx = context.WithValue(ctx, browserKey{}, s.browserIn(w, r))
	}
	if strings.HasPrefix(r.URL.Path, "/api/") {
		w.Header().Set("Cache-Control", "no-store")
	}
	if r.URL.Path == orgsPath || strings.HasPrefix(r.URL.Path, orgsPath+"/") || strings.HasPrefix(r.URL.Path, durablePath) {
		c, p := s.authenticate(r)
		if p != nil {
			if p.Code == perdure.Unauthenticated {
				w.Header().Set("WWW-Authenticate", `Bearer realm="perdure"`)
			}
			p.write(w)
			return
		}
		ctx = s.onBehalf(ctx, w, r, c)
		ctx = context.WithValue(ctx, queryKey{}, r.URL.Query())
	}
	r = r.WithContext(ctx)
	if r.ContentLength > BodyLimit && !isContent(r) {
		tooLarge().write(w)
		return
	}
	if !strings.HasPrefix(r.URL.Path, durablePath) { // streams hold content of any type
		asJSON(r)
	}
	if p := s.unmatched(w, r); p != nil {
		p.write(w)
		return
	}
	if !compressible(r) {
		s.mux.ServeHTTP(w, r)
		return
	}
	z := compress(w, r)
	s.mux.ServeHTTP(z, r)
	z.close()
}

// misdirected refuses requests whose Host is not one of Hosts. It also refuses a request from a
// page of another origin if Hosts are set, or if the request signs in or out.
func (s *server) misdirected(r *http.Request) *problem {
	if !s.ownHost(r) {
		return newProblem(perdure.PermissionDenied, fmt.Sprintf("this server is not %q; open it by the address that it printed", r.Host))
	}
	if r.Header.Get("Origin") == "" || s.ownOrigin(r) {
		return nil
	}
	if len(s.Hosts) > 0 || setsCookie(r) {
		return newProblem(perdure.PermissionDenied, "a page of another origin may not use this server")
	}
	return nil
}

// setsCookie reports whether the request changes the session of a browser.
func setsCookie(r *http.Request) bool {
	return r.URL.Path == "/api/login" || r.URL.Path == "/api/logout"
}

// asJSON treats a body as JSON if it has one of the types that tools send by default. A body that
// is not JSON is refused later, with the reason.
func asJSON(r *http.Request) {
	switch ct, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";"); strings.TrimSpace(strings.ToLower(ct)) {
	case "application/x-www-form-urlencoded", "text/plain", "application/json":
		r.Header.Set("Content-Type", "application/json")
	}
}

// unmatched returns a problem if the mux has no operation for the request; nil otherwise.
func (s *server) unmatched(w http.ResponseWriter, r *http.Request) *problem {
	h, pattern := s.mux.Handler(r)
	if pattern != "" {
		return nil
	}
	probe := &probe{header: http.Header{}}
	h.ServeHTTP(probe, r)
	if allow := probe.header.Get("Allow"); allow != "" {
		w.Header().Set("Allow", allow)
		p := newProblem(perdure.InvalidArgument, fmt.Sprintf("%s is not possible here; possible: %s", r.Method, allow))
		p.Status = http.StatusMethodNotAllowed
		return p
	}
	return newProblem(perdure.NotFound, fmt.Sprintf("there is nothing at %s; /docs lists what there is", r.URL.Path))
}

// probe records the response that the mux would send.
type probe struct{ header http.Header }

func (p *probe) Header() http.Header         { return p.header }
func (p *probe) Write(b []byte) (int, error) { return len(b), nil }
func (p *probe) WriteHeader(int)             {}

// recovered turns a panic into a response with an id that is also logged. If a stream is reset on
// purpose, the panic continues to the server, which closes the connection.
func (s *server) recovered(w *answer, r *http.Request) {
	cause := recover()
	if cause == nil {
		return
	}
	if err, ok := cause.(error); (ok && errors.Is(err, http.ErrAbortHandler)) || r.Context().Err() != nil {
		panic(http.ErrAbortHandler)
	}
	id := uuid.NewString()
	s.Logger.ErrorContext(r.Context(), "panic", slog.String("error_id", id), slog.Any("panic", cause), slog.String("stack", string(debug.Stack())))
	if w.status != 0 {
		panic(http.ErrAbortHandler)
	}
	newProblem(perdure.Internal, "an error inside the server; it is in the server's log as "+id).write(w)
}

// answer records whether the response has started, and sets a deadline for each piece of it. A
// client that does not read must not hold its response in memory. The server clears the deadline
// for the next request.
type answer struct {
	http.ResponseWriter
	c       *http.ResponseController
	timeout time.Duration
	status  int
	visit   *fair.Visit // in the org's share of the processor
}

// code returns the status of the response; 200 for a connection that was taken over.
func (a *answer) code() int {
	if a.status == 0 {
		return http.StatusOK
	}
	return a.status
}

// answerPiece is the number of bytes that a client has to take within the timeout.
const answerPiece = 64 << 10

func (a *answer) WriteHeader(status int) {
	a.visit.Leave()
	if a.status == 0 {
		a.status = status
	}
	a.ResponseWriter.WriteHeader(status)
}

func (a *answer) Write(b []byte) (n int, err error) {
	a.visit.Leave()
	if a.status == 0 {
		a.status = http.StatusOK
	}
	for first := true; err == nil && (first || len(b) > 0); first = false {
		piece := b[:min(len(b), answerPiece)]
		_ = a.c.SetWriteDeadline(time.Now().Add(a.timeout)) // without a deadline, a slow reader is waited for
		var wrote int
		wrote, err = a.ResponseWriter.Write(piece)
		n, b = n+wrote, b[len(piece):]
	}
	return n, err
}

// Unwrap lets http.ResponseController reach the connection.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// kept is a body that stays open when its reader closes it, so that the rest can be drained. Its
// deadline starts with the first read, unless the reader sets another one.
type kept struct {
	io.ReadCloser
	c      *http.ResponseController
	within time.Duration
	began  bool
	ended  func() // called once, when the whole body has arrived; may be nil
}

func (k *kept) Read(b []byte) (int, error) {
	if !k.began {
		k.began = true
		_ = k.c.SetReadDeadline(time.Now().Add(k.within)) // without a deadline, the read may block forever
	}
	n, err := k.ReadCloser.Read(b)
	if errors.Is(err, io.EOF) {
		_ = k.c.SetReadDeadline(time.Time{}) // the response has no read deadline
		if k.ended != nil {
			k.ended()
		}
	}
	return n, err
}

func (k *kept) Close() error { return nil }

// drain reads the rest of a refused body. A client that is still sending would otherwise see a
// connection reset instead of the response.
func (k *kept) drain(w http.ResponseWriter) {
	c := http.NewResponseController(w)
	_ = c.SetReadDeadline(time.Now().Add(10 * time.Second)) // without a deadline, the copy is still bounded
	_, _ = io.Copy(io.Discard, io.LimitReader(k.ReadCloser, 8*BodyLimit))
}
