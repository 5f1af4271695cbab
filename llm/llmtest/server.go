package llmtest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
)

// Wire is the protocol of a provider's API, as a server implements it.
type Wire struct {
	// before, text, after and end return the data lines of the four sections of an answer: those
	// before the text, the text, those after the text, and the terminal event.
	before, text, after, end func(Answer) []any
	named                    bool // whether events have names
	done                     string
	rules                    func(*checker, obj)
}

// Request is a request that a fake server received.
type Request struct {
	Path   string
	Header http.Header
	Body   map[string]any
	Raw    []byte
}

// Server is a fake server that returns its answers in order, and then the last answer again and
// again. A request that the real API would refuse fails the test.
type Server struct {
	URL string

	t       testing.TB
	wire    Wire
	answers []Answer
	closing chan struct{}

	mu   sync.Mutex
	gots []Request
}

// NewServer starts a server on a loopback address. The server is stopped at the end of the test.
func NewServer(t testing.TB, wire Wire, answers ...Answer) *Server {
	t.Helper()
	s := &Server{t: t, wire: wire, answers: answers, closing: make(chan struct{})}
	h := httptest.NewServer(http.HandlerFunc(s.serve))
	s.URL = h.URL
	t.Cleanup(func() {
		close(s.closing)
		h.CloseClientConnections()
		h.Close()
	})
	return s
}

// Requests returns the requests that the server has received, in order.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Request(nil), s.gots...)
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	raw, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client has disconnected
	}
	got := Request{Path: r.URL.Path, Header: r.Header.Clone(), Raw: raw}
	_ = json.Unmarshal(raw, &got.Body) // Body stays nil if it is not JSON
	if err := s.wire.Check(raw); err != nil {
		s.t.Errorf("the provider would refuse this request: %v\n%s", err, raw)
	}
	s.mu.Lock()
	a := s.answers[min(len(s.gots), len(s.answers)-1)]
	s.gots = append(s.gots, got)
	s.mu.Unlock()
	s.answer(w, r, a)
}

func (s *Server) answer(w http.ResponseWriter, r *http.Request, a Answer) {
	for name, value := range a.Header {
		w.Header().Set(name, value)
	}
	if a.Status != 0 {
		w.WriteHeader(a.Status)
		_, _ = io.WriteString(w, a.Body)
		return
	}
	if a.HangBefore {
		s.hang(r)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	if a.Stream != "" {
		_, _ = io.WriteString(w, a.Stream)
		return
	}
	if a.Raw != nil {
		for _, line := range a.Raw {
			s.raw(w, "", line)
		}
		return
	}
	s.send(w, s.wire.before(a))
	s.send(w, s.wire.text(a))
	_ = http.NewResponseController(w).Flush()
	switch {
	case a.Event != "":
		s.raw(w, "error", a.Event)
	case a.Cut:
	case a.Break:
		panic(http.ErrAbortHandler)
	case a.HangAfter:
		s.hang(r)
	default:
		s.send(w, s.wire.after(a))
		s.send(w, s.wire.end(a))
		if s.wire.done != "" {
			s.raw(w, "", s.wire.done)
		}
	}
}

func (s *Server) hang(r *http.Request) {
	select {
	case <-r.Context().Done():
	case <-s.closing:
	}
}

func (s *Server) send(w io.Writer, events []any) {
	for _, event := range events {
		if text, ok := event.(verbatim); ok {
			s.raw(w, "", string(text))
			continue
		}
		data, err := json.Marshal(event)
		if err != nil {
			panic(err)
		}
		name, _ := event.(obj)["type"].(string)
		s.raw(w, name, string(data))
	}
}

func (s *Server) raw(w io.Writer, name, data string) {
	if s.wire.named {
		if name == "" {
			var typed struct{ Type string }
			_ = json.Unmarshal([]byte(data), &typed)
			name = typed.Type
		}
		_, _ = fmt.Fprintf(w, "event: %s\n", name)
	}
	_, _ = fmt.Fprintf(w, "data: %s\n\n", data)
}

type obj = map[string]any

// verbatim is an event that is sent as it is. JSON encoding would remove white space.
type verbatim string
