package facetest

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

// Event is an event of an event stream, as the client received it.
type Event struct {
	ID, Event string
	Data      string
	Fields    map[string]any
}

// Seq returns the seq of the event.
func (e Event) Seq() int64 { n, _ := e.Fields["seq"].(float64); return int64(n) }

// Stream reads an event stream event by event.
type Stream struct {
	T        *testing.T
	Response *http.Response
	Scan     *bufio.Reader
}

// Follow opens the event stream at a path.
func (h *Server) Follow(path string, headers ...string) *Stream {
	h.T.Helper()
	res, err := http.DefaultTransport.RoundTrip(h.Request("GET", path, "", headers...))
	if err != nil {
		h.T.Fatal(err)
	}
	h.T.Cleanup(func() { _ = res.Body.Close() })
	if res.StatusCode != 200 {
		raw, _ := io.ReadAll(res.Body)
		h.T.Fatalf("status %d: %s", res.StatusCode, raw)
	}
	return StreamOf(h.T, res)
}

// StreamOf returns the event stream in the body of a response.
func StreamOf(t *testing.T, res *http.Response) *Stream {
	return &Stream{t, res, bufio.NewReader(res.Body)}
}

// Next returns the next event. The error is io.EOF if the server has ended the stream properly.
func (s *Stream) Next() (Event, error) {
	var e Event
	for {
		line, err := s.Scan.ReadString('\n')
		if err != nil {
			return e, err
		}
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		switch name {
		case "":
			return e, json.Unmarshal([]byte(e.Data), &e.Fields)
		case "id":
			e.ID = value
		case "event":
			e.Event = value
		case "data":
			e.Data = value
		default:
			s.T.Errorf("a line %q", line)
		}
	}
}

// Must returns the next event, and fails the test if there is none.
func (s *Stream) Must() Event {
	s.T.Helper()
	e, err := s.Next()
	if err != nil {
		s.T.Fatal(err)
	}
	return e
}

// All reads all events up to the end of the stream. It fails the test if the stream breaks off, or
// ends without the event "end".
func (s *Stream) All() []Event {
	s.T.Helper()
	var events []Event
	for {
		e, err := s.Next()
		if errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			break
		}
		if err != nil {
			s.T.Fatal(err)
		}
		events = append(events, e)
	}
	if len(events) == 0 || events[len(events)-1].Event != "end" {
		s.T.Fatalf("the stream ended cleanly without end: %v", events)
	}
	return events
}

// Show returns events as text, one line for each event.
func Show(events []Event) string {
	var b strings.Builder
	for _, e := range events {
		fmt.Fprintf(&b, "%s %s %s\n", e.ID, e.Event, e.Data)
	}
	return b.String()
}

// Play creates a run with events of many kinds, and ends it.
func Play(h *Server) *Run {
	x := h.Start("")
	r := h.Claim()
	if r.ID != x.ID {
		h.T.Fatalf("claimed %s", r.ID)
	}
	r.Say(UserText("hi"))
	r.Task("bash", "one")
	r.Stream(0, 0, "terminal", "$ ls\n")
	r.Stream(1, 0, "token", "Hel")
	r.Stream(2, 0, "thinking", "hmm")
	r.Stream(1, 3, "token", "lo wörld")
	r.Stream(0, 5, "terminal", "a b\n")
	r.Task("bash", "two")
	r.Say(AssistantText("Hello wörld"))
	r.Complete()
	return r
}

// AnswerText is the Markdown text that the model writes in the run created by Talk.
const AnswerText = "# Plan\n\nFirst **this**:\n\n- one\n- two\n\n```go\nx := 1\n\ny := 2\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\nThe <script>end</script>."

// Talk creates a run whose model streams AnswerText in small chunks, with other events between the
// chunks.
func Talk(h *Server) *Run {
	x := h.Start("")
	r := h.Claim()
	if r.ID != x.ID {
		h.T.Fatalf("claimed %s", r.ID)
	}
	r.Say(UserText("hi"))
	for i := 0; i < len(AnswerText); i += 3 {
		r.Stream(0, int64(i), "token", AnswerText[i:min(i+3, len(AnswerText))])
		switch i {
		case 33:
			r.Stream(1, 0, "thinking", "in the list")
		case 51:
			r.Task("bash", "in the code")
		case 54:
			r.Append(Frame{AgentLease: &r.Lease, Block: 2, Type: "data", Fields: []byte(`{"data":{"type":"file_write","path":"x"}}`)})
		}
	}
	r.Say(AssistantText(AnswerText))
	r.Complete()
	return r
}

// Filtered returns the members prevShown and prevSeq of an event in a filtered stream. prevShown is
// the newest seq that the stream has sent before the event. prevSeq is the newest seq that the
// filter has left out.
func (e Event) Filtered() (shown, spared int64) {
	s, _ := e.Fields["prevShown"].(float64)
	p, _ := e.Fields["prevSeq"].(float64)
	return int64(s), int64(p)
}

// Block reads one event whose data is text and not a JSON object. It returns the event's name and
// data.
func (s *Stream) Block() (name, data string) {
	s.T.Helper()
	for {
		line, err := s.Scan.ReadString('\n')
		if err != nil {
			s.T.Fatal(err)
		}
		key, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ":")
		value = strings.TrimPrefix(value, " ")
		switch key {
		case "":
			return name, data
		case "event":
			name = value
		case "data":
			data = value
		}
	}
}
