// Package facetest runs a complete server on a real store, for tests of the packages below
// internal/face.
package facetest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/internal/face"
	"github.com/perdure/perdure/internal/face/front"
	eventlog "github.com/perdure/perdure/internal/log"
	"github.com/perdure/perdure/internal/notify"
	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/internal/store/opentest"
)

// Server is a complete server on a real store. The test itself acts as the worker of the server.
type Server struct {
	T         *testing.T
	URL       string
	Engine    *engine.Engine
	Store     *Brittle
	Log       *eventlog.Log
	Worker    perdure.Dispatch
	ID        uuid.UUID // id of the worker
	Stop      chan struct{}
	Closed    chan struct{} // receives a value when the server has closed a connection
	Logged    *bytes.Buffer
	Conns     *Connections
	Serve     *atomic.Pointer[http.Handler]
	AdminKey  string
	ClientKey string
	WorkerKey string
}

// Open starts a server over a new store. Each function in change may modify the API's
// configuration before the start.
func Open(t *testing.T, change ...func(*face.Config)) *Server {
	t.Helper()
	return OpenOver(t, opentest.Store(t), change...)
}

// OpenOver starts a server over the given store.
func OpenOver(t *testing.T, st store.Store, change ...func(*face.Config)) *Server {
	t.Helper()
	h := &Server{
		T: t, Store: &Brittle{Store: st}, ID: uuid.New(), Stop: make(chan struct{}), Closed: make(chan struct{}, 1), Logged: &bytes.Buffer{},
		Conns: &Connections{}, Serve: &atomic.Pointer[http.Handler]{},
	}
	logger := slog.New(slog.NewTextHandler(h.Logged, nil))
	h.Engine = engine.New(engine.Config{Store: h.Store, Hints: &notify.Local{}, Logger: logger})
	h.Worker = h.Engine.Dispatch("default", false)
	_, err := h.Worker.Register(t.Context(), perdure.Registration{
		WorkerID: h.ID, Queues: []string{"default"}, Features: perdure.AllFeatures,
		Agents: []perdure.KindSpec{
			{Kind: perdure.ReactKind, Providers: []string{"scripted"}},
			{Kind: "count", InputSchema: json.RawMessage(`{"type":"object","required":["n"],"properties":{"n":{"type":"integer"}}}`)},
			{Kind: "anything"},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	h.AdminKey, h.ClientKey, h.WorkerKey = h.Key("admin"), h.Key("client"), h.Key("worker")
	h.Log = eventlog.New(h.Engine.Read(), st.Epoch(), h.Engine.Hints)
	c := face.Config{Config: front.Config{Engine: h.Engine, Logger: logger, Stop: h.Stop}, Log: h.Log}
	for _, f := range change {
		f(&c)
	}
	h.Engine.Grown = func(g engine.Growth) bool { return c.Log.Grown(g.Execution, g.Head, g.Records) }
	api, err := face.New(c)
	if err != nil {
		t.Fatal(err)
	}
	var handler http.Handler = api
	h.Serve.Store(&handler)
	srv := httptest.NewUnstartedServer(nil)
	whole := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { (*h.Serve.Load()).ServeHTTP(w, r) })
	srv.Listener = WatchedListener{srv.Listener, h.Conns}
	srv.Config = front.NewServer(whole, slog.NewLogLogger(logger.Handler(), slog.LevelError))
	srv.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateClosed {
			select {
			case h.Closed <- struct{}{}:
			default:
			}
		}
	}
	srv.Start()
	t.Cleanup(func() {
		srv.CloseClientConnections()
		srv.Close()
		http.DefaultClient.CloseIdleConnections()
	})
	h.URL = srv.URL
	return h
}

// Restarted starts another server on the same store, as after a restart: it shares no memory with
// the first server.
func (h *Server) Restarted() *Server {
	h.T.Helper()
	again := &Server{T: h.T, Store: h.Store, ID: h.ID, Stop: h.Stop, AdminKey: h.AdminKey, ClientKey: h.ClientKey, WorkerKey: h.WorkerKey}
	again.Engine = engine.New(engine.Config{Store: h.Store, Hints: &notify.Local{}})
	again.Worker = again.Engine.Dispatch("default", false)
	again.Log = eventlog.New(again.Engine.Read(), h.Store.Epoch(), again.Engine.Hints)
	handler, err := face.New(face.Config{Config: front.Config{Engine: again.Engine, Stop: h.Stop}, Log: again.Log})
	if err != nil {
		h.T.Fatal(err)
	}
	srv := httptest.NewServer(handler)
	h.T.Cleanup(func() {
		srv.CloseClientConnections()
		srv.Close()
	})
	again.URL = srv.URL
	return again
}

// Wrap replaces the server's HTTP handler. The function `around` gets the present handler and
// returns the new one.
func (h *Server) Wrap(around func(http.HandlerFunc) http.HandlerFunc) {
	var outer http.Handler = around((*h.Serve.Load()).ServeHTTP)
	h.Serve.Store(&outer)
}

// Key creates an API key that has the given role, and returns the key's secret.
func (h *Server) Key(role perdure.KeyRole) string {
	h.T.Helper()
	_, secret, err := h.Engine.CreateKey(h.T.Context(), "default", "test "+string(role), role)
	if err != nil {
		h.T.Fatal(err)
	}
	return secret
}

// Reply is a response that the test has read.
type Reply struct {
	T      *testing.T
	Status int
	Header http.Header
	Body   []byte
}

// Org is the API path of the org that the tests use.
const Org = "/api/orgs/default"

// Call sends a request with the client's key. The path is relative to Org. If it begins with a dot,
// the rest is the whole path.
func (h *Server) Call(method, path, body string, headers ...string) Reply {
	h.T.Helper()
	return h.Send(h.Request(method, path, body, headers...))
}

// Send sends a request and reads the response.
func (h *Server) Send(req *http.Request) Reply {
	h.T.Helper()
	res, err := http.DefaultTransport.RoundTrip(req) // follows no redirect
	if err != nil {
		h.T.Fatal(err)
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		h.T.Fatal(err)
	}
	return Reply{h.T, res.StatusCode, res.Header, raw}
}

// Request creates a request from the same arguments as Call, without sending it.
func (h *Server) Request(method, path, body string, headers ...string) *http.Request {
	h.T.Helper()
	if rest, bare := strings.CutPrefix(path, "."); bare {
		path = rest
	} else {
		path = Org + path
	}
	req, err := http.NewRequestWithContext(h.T.Context(), method, h.URL+path, strings.NewReader(body))
	if err != nil {
		h.T.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+h.ClientKey)
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(headers); i += 2 {
		if headers[i+1] == "" {
			req.Header.Del(headers[i])
		} else if headers[i] == "Host" {
			req.Host = headers[i+1]
		} else {
			req.Header.Set(headers[i], headers[i+1])
		}
	}
	return req
}

// Want fails the test if the reply has another status. It decodes the body into v, unless v is
// nil.
func (r Reply) Want(status int, v any) Reply {
	r.T.Helper()
	if r.Status != status {
		r.T.Fatalf("status %d, want %d: %s", r.Status, status, r.Body)
	}
	if v != nil {
		if err := json.Unmarshal(r.Body, v); err != nil {
			r.T.Fatalf("%v: %s", err, r.Body)
		}
	}
	return r
}

// Problem is the body of an error response.
type Problem struct {
	Type, Title, Detail, Code string
	Status                    int
	Errors                    []perdure.FieldError
}

// Problem checks that the reply is an error with the status and the code. If field is not "", the
// error must also be about that field.
func (r Reply) Problem(status int, code perdure.Code, field string) Problem {
	r.T.Helper()
	var p Problem
	r.Want(status, &p)
	if ct := r.Header.Get("Content-Type"); ct != "application/problem+json" {
		r.T.Errorf("an error of type %q", ct)
	}
	if p.Code != string(code) || p.Status != status || p.Title == "" || p.Type == "" || p.Detail == "" {
		r.T.Errorf("got the problem %s, want %s", r.Body, code)
	}
	if field != "" && (len(p.Errors) == 0 || p.Errors[0].Location != field || p.Errors[0].Message == "") {
		r.T.Errorf("got the problem %s, want one about %s", r.Body, field)
	}
	return p
}

// Page is the body of a response with one page of a list.
type Page[T any] struct {
	Items      []T
	NextCursor *string
}

// Models is the member "models" of a request that starts a react agent.
const Models = `"models":[{"provider":"scripted","modelId":"m"}]`

// Start starts an execution of the react agent. The parameter `extra` is further JSON for the body
// of the request.
func (h *Server) Start(extra string) perdure.Execution {
	h.T.Helper()
	var x perdure.Execution
	h.Call("POST", "/agent-executions", `{"userPrompt":"hi",`+Models+extra+`}`).Want(201, &x)
	return x
}

// Path returns the path of an execution, relative to Org, with `rest` appended.
func (h *Server) Path(id uuid.UUID, rest string) string {
	return fmt.Sprintf("/agent-executions/%s%s", id, rest)
}
