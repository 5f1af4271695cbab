package httpapi_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
)

// sse is one event as received.
type sse struct {
	id, event string
	data      string
	fields    map[string]any
}

func (e sse) seq() int64 { n, _ := e.fields["seq"].(float64); return int64(n) }

// stream reads events one by one.
type stream struct {
	t    *testing.T
	res  *http.Response
	scan *bufio.Reader
}

func (h *house) follow(path string, headers ...string) *stream {
	h.t.Helper()
	res, err := http.DefaultTransport.RoundTrip(h.request("GET", path, "", headers...))
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { _ = res.Body.Close() })
	if res.StatusCode != 200 {
		raw, _ := io.ReadAll(res.Body)
		h.t.Fatalf("status %d: %s", res.StatusCode, raw)
	}
	return streamOf(h.t, res)
}

func streamOf(t *testing.T, res *http.Response) *stream {
	return &stream{t, res, bufio.NewReader(res.Body)}
}

// next returns the next event; the error is io.EOF after a clean end.
func (s *stream) next() (sse, error) {
	var e sse
	for {
		line, err := s.scan.ReadString('\n')
		if err != nil {
			return e, err
		}
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		switch name {
		case "":
			return e, json.Unmarshal([]byte(e.data), &e.fields)
		case "id":
			e.id = value
		case "event":
			e.event = value
		case "data":
			e.data = value
		default:
			s.t.Errorf("a line %q", line)
		}
	}
}

// must returns the next event, and fails the test if there is none.
func (s *stream) must() sse {
	s.t.Helper()
	e, err := s.next()
	if err != nil {
		s.t.Fatal(err)
	}
	return e
}

// all reads to the clean end.
func (s *stream) all() []sse {
	s.t.Helper()
	var events []sse
	for {
		e, err := s.next()
		if errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			break
		}
		if err != nil {
			s.t.Fatal(err)
		}
		events = append(events, e)
	}
	if len(events) == 0 || events[len(events)-1].event != "end" {
		s.t.Fatalf("the stream ended cleanly without end: %v", events)
	}
	return events
}

func show(events []sse) string {
	var b strings.Builder
	for _, e := range events {
		fmt.Fprintf(&b, "%s %s %s\n", e.id, e.event, e.data)
	}
	return b.String()
}

// play creates a run with events of many kinds, and ends it.
func play(h *house) *run {
	x := h.start("")
	r := h.claim()
	if r.id != x.ID {
		h.t.Fatalf("claimed %s", r.id)
	}
	r.say(userText("hi"))
	r.task("bash", "one")
	r.stream(0, 0, "terminal", "$ ls\n")
	r.stream(1, 0, "token", "Hel")
	r.stream(2, 0, "thinking", "hmm")
	r.stream(1, 3, "token", "lo wörld")
	r.stream(0, 5, "terminal", "a b\n")
	r.task("bash", "two")
	r.say(assistantText("Hello wörld"))
	r.complete()
	return r
}
