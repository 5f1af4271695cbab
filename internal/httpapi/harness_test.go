package httpapi_test

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
	"github.com/perdure/perdure/internal/eventlog"
	"github.com/perdure/perdure/internal/httpapi"
	"github.com/perdure/perdure/internal/notify"
	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/internal/store/opentest"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// house is a whole server over a real store; the test acts as the worker.
type house struct {
	t      *testing.T
	url    string
	engine *engine.Engine
	store  *brittle
	log    *eventlog.Log
	worker perdure.Dispatch
	id     uuid.UUID // of the worker
	stop   chan struct{}
	closed chan struct{} // receives when the server has closed a connection
	logged *bytes.Buffer
	conns  *connections
	serve  *atomic.Pointer[http.Handler]
	admin  string
	client string
	wkey   string
}

// open starts a house. change may modify the API's configuration.
func open(t *testing.T, change ...func(*httpapi.Config)) *house {
	t.Helper()
	return openOver(t, opentest.Store(t), change...)
}

// openOver starts a house over the given store.
func openOver(t *testing.T, st store.Store, change ...func(*httpapi.Config)) *house {
	t.Helper()
	h := &house{
		t: t, store: &brittle{Store: st}, id: uuid.New(), stop: make(chan struct{}), closed: make(chan struct{}, 1), logged: &bytes.Buffer{},
		conns: &connections{}, serve: &atomic.Pointer[http.Handler]{},
	}
	logger := slog.New(slog.NewTextHandler(h.logged, nil))
	h.engine = engine.New(engine.Config{Store: h.store, Hints: &notify.Local{}, Logger: logger})
	h.worker = h.engine.Dispatch("default", false)
	_, err := h.worker.Register(t.Context(), perdure.Registration{
		WorkerID: h.id, Queues: []string{"default"},
		Agents: []perdure.KindSpec{
			{Kind: perdure.ReactKind, Providers: []string{"scripted"}},
			{Kind: "count", InputSchema: json.RawMessage(`{"type":"object","required":["n"],"properties":{"n":{"type":"integer"}}}`)},
			{Kind: "anything"},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	h.admin, h.client, h.wkey = h.key("admin"), h.key("client"), h.key("worker")
	h.log = eventlog.New(h.engine.Read(), st.Epoch(), h.engine.Hints)
	c := httpapi.Config{Engine: h.engine, Log: h.log, Logger: logger, Stop: h.stop}
	for _, f := range change {
		f(&c)
	}
	h.engine.Grown = func(g engine.Growth) bool { return c.Log.Grown(g.Execution, g.Head, g.Records) }
	handler, err := httpapi.New(c)
	if err != nil {
		t.Fatal(err)
	}
	h.serve.Store(&handler)
	srv := httptest.NewUnstartedServer(nil)
	whole := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { (*h.serve.Load()).ServeHTTP(w, r) })
	srv.Listener = watchedListener{srv.Listener, h.conns}
	srv.Config = httpapi.NewServer(whole, slog.NewLogLogger(logger.Handler(), slog.LevelError))
	srv.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateClosed {
			select {
			case h.closed <- struct{}{}:
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
	h.url = srv.URL
	return h
}

// wrap installs a wrapper around the server's handler.
func (h *house) wrap(around func(http.HandlerFunc) http.HandlerFunc) {
	var outer http.Handler = around((*h.serve.Load()).ServeHTTP)
	h.serve.Store(&outer)
}

func (h *house) key(role perdure.KeyRole) string {
	h.t.Helper()
	_, secret, err := h.engine.CreateKey(h.t.Context(), "default", "test "+string(role), role)
	if err != nil {
		h.t.Fatal(err)
	}
	return secret
}

// reply is a response.
type reply struct {
	t      *testing.T
	status int
	header http.Header
	body   []byte
}

const org = "/api/orgs/default"

// call sends a request as the client. path is relative to the org unless it begins with a dot.
func (h *house) call(method, path, body string, headers ...string) reply {
	h.t.Helper()
	return h.send(h.request(method, path, body, headers...))
}

func (h *house) send(req *http.Request) reply {
	h.t.Helper()
	res, err := http.DefaultTransport.RoundTrip(req) // follows no redirect
	if err != nil {
		h.t.Fatal(err)
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		h.t.Fatal(err)
	}
	return reply{h.t, res.StatusCode, res.Header, raw}
}

func (h *house) request(method, path, body string, headers ...string) *http.Request {
	h.t.Helper()
	if rest, bare := strings.CutPrefix(path, "."); bare {
		path = rest
	} else {
		path = org + path
	}
	req, err := http.NewRequestWithContext(h.t.Context(), method, h.url+path, strings.NewReader(body))
	if err != nil {
		h.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+h.client)
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

// want checks the status and decodes the body.
func (r reply) want(status int, v any) reply {
	r.t.Helper()
	if r.status != status {
		r.t.Fatalf("status %d, want %d: %s", r.status, status, r.body)
	}
	if v != nil {
		if err := json.Unmarshal(r.body, v); err != nil {
			r.t.Fatalf("%v: %s", err, r.body)
		}
	}
	return r
}

type problem struct {
	Type, Title, Detail, Code string
	Status                    int
	Errors                    []perdure.FieldError
}

// problem checks that the reply is an error with that code and, unless field is "", about that
// field.
func (r reply) problem(status int, code perdure.Code, field string) problem {
	r.t.Helper()
	var p problem
	r.want(status, &p)
	if ct := r.header.Get("Content-Type"); ct != "application/problem+json" {
		r.t.Errorf("an error of type %q", ct)
	}
	if p.Code != string(code) || p.Status != status || p.Title == "" || p.Type == "" || p.Detail == "" {
		r.t.Errorf("got the problem %s, want %s", r.body, code)
	}
	if field != "" && (len(p.Errors) == 0 || p.Errors[0].Location != field || p.Errors[0].Message == "") {
		r.t.Errorf("got the problem %s, want one about %s", r.body, field)
	}
	return p
}

type page[T any] struct {
	Items      []T
	NextCursor *string
}

const models = `"models":[{"provider":"scripted","modelId":"m"}]`

// start starts a react agent.
func (h *house) start(extra string) perdure.Execution {
	h.t.Helper()
	var x perdure.Execution
	h.call("POST", "/agent-executions", `{"userPrompt":"hi",`+models+extra+`}`).want(201, &x)
	return x
}

func (h *house) path(id uuid.UUID, rest string) string {
	return fmt.Sprintf("/agent-executions/%s%s", id, rest)
}
