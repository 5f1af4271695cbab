package openai_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/agent"
	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/internal/face/openai"
	eventlog "github.com/perdure/perdure/internal/log"
	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/internal/store/opentest"
	"github.com/perdure/perdure/llm"
	"github.com/perdure/perdure/react"
	"github.com/perdure/perdure/tool"
	"github.com/perdure/perdure/worker"
)

func TestMain(m *testing.M) { os.Exit(opentest.Main(m)) }

// impatientHeader is a header with which a request is served with the short write timeout
// `impatience`. All other requests have a long one, so that the readers of a test are not
// disconnected on a slow machine.
const (
	impatientHeader = "Test-Impatient"
	impatience      = 200 * time.Millisecond
)

// stage serves the API over a real engine, with a worker that runs the agents.
type stage struct {
	t      *testing.T
	model  *model
	others []llm.Provider
	engine *engine.Engine
	store  store.Store
	url    string
	http   *http.Client
	open   sync.WaitGroup // counts the open streams

	lastResponse string // response of the most recent call of path
}

// reading counts an open stream until the function `leave` is called.
func (s *stage) reading(*http.Request) (leave func(), refused *openai.Error) {
	s.open.Add(1)
	return s.open.Done, nil
}

func newStage(t *testing.T, answers ...answer) *stage {
	t.Helper()
	return newStageOf(t, opentest.Store(t), func(*openai.Config) {}, nil, answers)
}

// newStageOn creates a stage on a store.
func newStageOn(t *testing.T, on store.Store, answers ...answer) *stage {
	t.Helper()
	return newStageOf(t, on, func(*openai.Config) {}, nil, answers)
}

// newStageWith creates a stage with a changed configuration.
func newStageWith(t *testing.T, change func(*openai.Config), answers ...answer) *stage {
	t.Helper()
	return newStageOf(t, opentest.Store(t), change, nil, answers)
}

// newStageBeside creates a stage with model providers in addition to the scripted one.
func newStageBeside(t *testing.T, others []llm.Provider, answers ...answer) *stage {
	t.Helper()
	return newStageOf(t, opentest.Store(t), func(*openai.Config) {}, others, answers)
}

func newStageOf(t *testing.T, on store.Store, change func(*openai.Config), others []llm.Provider, answers []answer) *stage {
	t.Helper()
	s := &stage{t: t, model: &model{answers: answers}, others: others, store: on}
	s.engine = engine.New(engine.Config{Store: s.store, Lease: 5 * time.Second, CancelGrace: 2 * time.Second})
	ctx, cancel := context.WithCancel(context.Background())
	engineDone := make(chan error, 1)
	go func() { engineDone <- s.engine.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-engineDone; err != nil {
			t.Error(err)
		}
	})
	s.work("default")
	config := openai.Config{
		Engine: s.engine, Log: eventlog.New(s.store, s.store.Epoch(), s.engine.Hints), Logger: slog.New(slog.DiscardHandler),
		PingEvery: time.Minute, WriteTimeout: 30 * time.Second, Read: s.reading, Voter: voterOf,
	}
	change(&config)
	api := openai.New(config)
	config.WriteTimeout = impatience
	impatient := openai.New(config)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		org := r.Header.Get("Authorization")
		if org = strings.TrimPrefix(org, "Bearer "); org == "" || org == "none" {
			org = "default"
		}
		h := api
		if r.Header.Get(impatientHeader) != "" {
			h = impatient
		}
		h.ServeHTTP(w, r.WithContext(asCaller(openai.WithOrg(r.Context(), org), r.Header.Get(callerHeader))))
	}))
	t.Cleanup(server.Close)
	s.url, s.http = server.URL, server.Client()
	return s
}

// work starts a worker of an org. The worker stops when the test ends.
func (s *stage) work(org string) {
	s.t.Helper()
	folder := s.t.TempDir()
	c := react.Config{
		Providers: llm.NewProviders(append([]llm.Provider{s.model}, s.others...)...), Tools: tool.Builtin(),
		Workspaces: func(dir string) (*tool.Workspace, error) {
			return tool.OpenWorkspace(folder, dir, tool.WorkspaceOptions{})
		},
	}
	w := worker.New(worker.Config{Dispatch: s.engine.Dispatch(org, true), Parked: 10, Drain: time.Second})
	w.RegisterAgent(react.Agent(c))
	w.RegisterAgent(deaf())
	for _, d := range react.Tasks(c) {
		w.RegisterTask(d)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- w.Run(ctx) }()
	s.t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			s.t.Error(err)
		}
	})
	<-w.Registered()
}

// deaf returns an agent that reads messages, produces no output, and does not report the end of a
// response.
func deaf() agent.Definition {
	return agent.DefineFunc("deaf", func(ctx agent.Context, _ struct{}) (struct{}, error) {
		for {
			if _, err := ctx.WaitSignal(perdure.UserMessage, 0); err != nil {
				return struct{}{}, err
			}
		}
	})
}

// object contains the members of a response object that tests read.
type object struct {
	ID, Status, Model string
	CreatedAt         int64  `json:"created_at"`
	CompletedAt       *int64 `json:"completed_at"`
	Previous          string `json:"previous_response_id"`
	Output            []item
	Error             *struct{ Code, Message string }
	Incomplete        *struct{ Reason string } `json:"incomplete_details"`
	Usage             *struct {
		In      int `json:"input_tokens"`
		Out     int `json:"output_tokens"`
		Total   int `json:"total_tokens"`
		Details struct {
			Cached int `json:"cached_tokens"`
		} `json:"input_tokens_details"`
	}
	Metadata map[string]string
	raw      []byte
}

type item struct {
	Type, ID, Status, Role, Name, Arguments string
	CallID                                  string `json:"call_id"`
	Output                                  any
	Content, Summary                        []struct{ Type, Text string }
	Error                                   *itemError
}

// itemError is the error of a tool that a worker has run.
type itemError struct{ Content []struct{ Text string } }

// outcome returns the result or the error of a call of a tool that a worker has run.
func (i item) outcome() string {
	if i.Error != nil {
		return "failed: " + i.Error.Content[0].Text
	}
	return fmt.Sprint(i.Output)
}

// text returns the texts of the messages in the output, joined.
func (o object) text() string {
	var b strings.Builder
	for _, i := range o.Output {
		for _, c := range i.Content {
			b.WriteString(c.Text)
		}
	}
	return b.String()
}

// calls returns the calls of tools that the client runs.
func (o object) calls() []item {
	return slices.DeleteFunc(slices.Clone(o.Output), func(i item) bool { return i.Type != "function_call" })
}

type reply struct {
	t      *testing.T
	status int
	body   []byte
}

func (s *stage) request(method, path, body, org string) *http.Response {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.t.Context(), method, s.url+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+org)
	resp, err := s.http.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	return resp
}

func (s *stage) call(method, path, body string) reply { return s.callAs("default", method, path, body) }

func (s *stage) callAs(org, method, path, body string) reply {
	s.t.Helper()
	resp := s.request(method, path, body, org)
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return reply{s.t, resp.StatusCode, raw}
}

// object decodes a response object, and checks it against the published schema.
func (r reply) object() object {
	r.t.Helper()
	if r.status != http.StatusOK {
		r.t.Fatalf("status %d: %s", r.status, r.body)
	}
	checkResponse(r.t, r.body)
	o := object{raw: r.body}
	if err := json.Unmarshal(r.body, &o); err != nil {
		r.t.Fatal(err)
	}
	return o
}

// refused checks an error response and returns its message.
func (r reply) refused(status int, param, code string) string {
	r.t.Helper()
	var e struct {
		Error struct {
			Message, Type string
			Param, Code   *string
		}
	}
	if err := json.Unmarshal(r.body, &e); err != nil {
		r.t.Fatalf("%v: %s", err, r.body)
	}
	got := func(p *string) string {
		if p == nil {
			return ""
		}
		return *p
	}
	if r.status != status || got(e.Error.Param) != param || got(e.Error.Code) != code || e.Error.Message == "" || e.Error.Type == "" {
		r.t.Errorf("got %d %s, want %d with param %q and code %q", r.status, r.body, status, param, code)
	}
	return e.Error.Message
}

// create sends a create request. The parameter `members` is JSON text with members of the request.
func (s *stage) create(members string) reply {
	s.t.Helper()
	return s.call("POST", "/v1/responses", `{"model":"test/m",`+members+`}`)
}

// keyed sends a create request with an idempotency key.
func (s *stage) keyed(key, body string) reply {
	s.t.Helper()
	return s.keyedAt("/v1/responses", key, body)
}

// keyedAt posts a body with an idempotency key.
func (s *stage) keyedAt(path, key, body string) reply {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.t.Context(), http.MethodPost, s.url+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("Idempotency-Key", key)
	return s.do(req)
}

func (s *stage) do(req *http.Request) reply {
	s.t.Helper()
	resp, err := s.http.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return reply{s.t, resp.StatusCode, raw}
}

// event is an event of a stream, as the client received it.
type event struct {
	Type   string
	Number int64 `json:"sequence_number"`
	Raw    string
}

// streamed opens a stream, and sends its events on the channel until the stream ends. The returned
// function reports an error if the stream ended without the mark [DONE].
func (s *stage) streamed(method, path, body string) (<-chan event, func() error) {
	s.t.Helper()
	resp := s.request(method, path, body, "default")
	if ct := resp.Header.Get("Content-Type"); resp.StatusCode != http.StatusOK || !strings.HasPrefix(ct, "text/event-stream") {
		raw, _ := io.ReadAll(resp.Body)
		s.t.Fatalf("status %d, %s: %s", resp.StatusCode, ct, raw)
	}
	events, failed := make(chan event), make(chan error, 1)
	go func() {
		defer resp.Body.Close()
		defer close(events)
		failed <- readEvents(resp.Body, events)
	}()
	return events, func() error { return <-failed }
}

func readEvents(body io.Reader, events chan<- event) error {
	lines := bufio.NewScanner(body)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		data, ok := bytes.CutPrefix(lines.Bytes(), []byte("data: "))
		if !ok {
			continue
		}
		if string(data) == "[DONE]" {
			return nil
		}
		e := event{Raw: string(data)}
		if err := json.Unmarshal(data, &e); err != nil {
			return err
		}
		events <- e
	}
	return fmt.Errorf("the stream broke off: %w", lines.Err())
}

// all reads a stream to its end, and checks each event.
func (s *stage) all(method, path, body string) []event {
	s.t.Helper()
	events, end := s.streamed(method, path, body)
	var all []event
	for e := range events {
		checkEvent(s.t, e.Type, []byte(e.Raw))
		all = append(all, e)
	}
	if err := end(); err != nil {
		s.t.Fatal(err)
	}
	return all
}

// responseOf returns the response that an event contains.
func responseOf(t *testing.T, e event) object {
	t.Helper()
	var v struct{ Response json.RawMessage }
	if err := json.Unmarshal([]byte(e.Raw), &v); err != nil || v.Response == nil {
		t.Fatalf("%s has no response: %v", e.Raw, err)
	}
	return reply{t, 200, v.Response}.object()
}
