package sse_test

import (
	"crypto/sha256"
	"strings"
	"testing"

	"github.com/perdure/perdure"
)

// localText is a LOCAL execution whose model streams a text in chunks.
type localText struct {
	*run
	said string
}

func (h *testServer) speech() *localText {
	h.T.Helper()
	h.Call("POST", "/agent-executions", `{"kind":"count","input":{"n":1},"persistenceMode":"local"}`).Want(201, nil)
	claims, err := h.Worker.PollAgents(h.T.Context(), perdure.Poll{
		WorkerID: h.ID, Queues: []string{"default", perdure.LocalQueue(h.ID)}, Kinds: []string{"count"}, Slots: 1, Local: true,
	})
	if err != nil || len(claims) != 1 {
		h.T.Fatalf("claimed %d, %v", len(claims), err)
	}
	return &localText{run: &run{Server: h.Server, ID: claims[0].Lease.ExecutionID, Lease: claims[0].Lease}}
}

func (s *localText) say(pieces ...string) {
	s.Server.T.Helper()
	for _, p := range pieces {
		f := frame{AgentLease: &s.Lease, Type: "token", Offset: int64(len(s.said)), Text: p}
		s.said += p
		f.Sum = sha256.Sum256([]byte(s.said))
		s.Append(f)
	}
}

func (s *localText) complete() {
	s.Server.T.Helper()
	ref := perdure.ContentRef(s.ID, []byte(`{}`))
	s.Commit(perdure.Commit{Outcome: perdure.Outcome{Kind: perdure.OutcomeComplete, Output: perdure.Payload{Blob: &ref}}})
}

// TestRenderedLocalTextWhileItStreams checks that the text of a LOCAL run is rendered while it
// streams.
func TestRenderedLocalTextWhileItStreams(t *testing.T) {
	h := open(t)
	s := h.speech()
	stream := h.Follow(h.Path(s.ID, "/stream?render=html"))
	s.say("- one\n", "- *two*")
	p := newHTMLPage()
	for !strings.Contains(p.html(), "<em>two</em>") {
		p.fold(t, stream.Must())
	}
	s.complete()
	for e := stream.Must(); e.Event != "end"; e = stream.Must() {
		p.fold(t, e)
	}
	if want := "<ul>\n<li>one</li>\n<li><em>two</em></li>\n</ul>\n"; p.html() != want {
		t.Errorf("the page is %q, want %q", p.html(), want)
	}
	for name := range p.parts {
		if !p.final[name] {
			t.Errorf("part %s is never final", name)
		}
	}
}

// TestRenderedLocalTextThatIsOnItsWorker checks a text of a LOCAL execution with a chunk that is
// stored only on the worker. This chunk and all later chunks of the text are sent unrendered. Other
// events do not wait for the text.
func TestRenderedLocalTextThatIsOnItsWorker(t *testing.T) {
	h := open(t)
	s := h.speech()
	s.say("- one\n")
	later := h.Restarted()
	s.Server = later
	s.say("- two\n")
	stream := later.Follow(h.Path(s.ID, "/stream?render=html"))
	var got []string
	note := func() sseEvent {
		e := stream.Must()
		if e.Event == "token" || e.Event == "html" {
			text, _ := e.Fields["data"].(string)
			where, _ := e.Fields["content"].(string)
			got = append(got, e.Event+" "+where+text)
		}
		return e
	}
	for len(got) < 2 {
		note()
	}
	s.Append(frame{AgentLease: &s.Lease, Block: 1, Type: "data", Fields: []byte(`{"data":{"type":"plan"}}`), Sum: sha256.Sum256([]byte(`{"data":{"type":"plan"}}`))})
	for note().Event != "data" {
	}
	s.complete()
	for note().Event != "end" {
	}
	if want := "token worker|token - two\n"; strings.Join(got, "|") != want {
		t.Errorf("came %q, want %q", strings.Join(got, "|"), want)
	}
}
