package httpapi_test

import (
	"crypto/sha256"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/internal/eventlog"
	"github.com/perdure/perdure/internal/httpapi"
	"github.com/perdure/perdure/internal/notify"
)

// speech is a LOCAL execution whose text arrives in chunks.
type speech struct {
	*run
	said string
}

func (h *house) speech() *speech {
	h.t.Helper()
	h.call("POST", "/agent-executions", `{"kind":"count","input":{"n":1},"persistenceMode":"local"}`).want(201, nil)
	claims, err := h.worker.PollAgents(h.t.Context(), perdure.Poll{
		WorkerID: h.id, Queues: []string{"default", perdure.LocalQueue(h.id)}, Kinds: []string{"count"}, Slots: 1, Local: true,
	})
	if err != nil || len(claims) != 1 {
		h.t.Fatalf("claimed %d, %v", len(claims), err)
	}
	return &speech{run: &run{h: h, id: claims[0].Lease.ExecutionID, lease: claims[0].Lease}}
}

func (s *speech) say(pieces ...string) {
	s.h.t.Helper()
	for _, p := range pieces {
		f := frame{AgentLease: &s.lease, Type: "token", Offset: int64(len(s.said)), Text: p}
		s.said += p
		f.Sum = sha256.Sum256([]byte(s.said))
		s.append(f)
	}
}

func (s *speech) complete() {
	s.h.t.Helper()
	ref := perdure.ContentRef(s.id, []byte(`{}`))
	s.commit(perdure.Commit{Outcome: perdure.Outcome{Kind: perdure.OutcomeComplete, Output: perdure.Payload{Blob: &ref}}})
}

// restarted returns another server over the same store, without the state of the first.
func (h *house) restarted() *house {
	h.t.Helper()
	again := &house{t: h.t, store: h.store, id: h.id, stop: h.stop, admin: h.admin, client: h.client, wkey: h.wkey}
	again.engine = engine.New(engine.Config{Store: h.store, Hints: &notify.Local{}})
	again.worker = again.engine.Dispatch("default", false)
	again.log = eventlog.New(again.engine.Read(), h.store.Epoch(), again.engine.Hints)
	handler, err := httpapi.New(httpapi.Config{Engine: again.engine, Log: again.log, Stop: h.stop})
	if err != nil {
		h.t.Fatal(err)
	}
	srv := httptest.NewServer(handler)
	h.t.Cleanup(func() {
		srv.CloseClientConnections()
		srv.Close()
	})
	again.url = srv.URL
	return again
}

// The text of a LOCAL run is rendered while it streams, like any other.
func TestRenderedLocalTextWhileItStreams(t *testing.T) {
	h := open(t)
	s := h.speech()
	stream := h.follow(h.path(s.id, "/stream?render=html"))
	s.say("- one\n", "- *two*")
	p := newHTMLPage()
	for !strings.Contains(p.html(), "<em>two</em>") {
		p.fold(t, stream.must())
	}
	s.complete()
	for e := stream.must(); e.event != "end"; e = stream.must() {
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

// Text that the server no longer has cannot be rendered. From the first such chunk, the text is
// streamed unrendered, and other events do not wait for it.
func TestRenderedLocalTextThatIsOnItsWorker(t *testing.T) {
	h := open(t)
	s := h.speech()
	s.say("- one\n")
	later := h.restarted()
	s.h = later
	s.say("- two\n")
	stream := later.follow(h.path(s.id, "/stream?render=html"))
	var got []string
	note := func() sse {
		e := stream.must()
		if e.event == "token" || e.event == "html" {
			text, _ := e.fields["data"].(string)
			where, _ := e.fields["content"].(string)
			got = append(got, e.event+" "+where+text)
		}
		return e
	}
	for len(got) < 2 {
		note()
	}
	s.append(frame{AgentLease: &s.lease, Block: 1, Type: "data", Fields: []byte(`{"data":{"type":"plan"}}`), Sum: sha256.Sum256([]byte(`{"data":{"type":"plan"}}`))})
	for note().event != "data" {
	}
	s.complete()
	for note().event != "end" {
	}
	if want := "token worker|token - two\n"; strings.Join(got, "|") != want {
		t.Errorf("came %q, want %q", strings.Join(got, "|"), want)
	}
}
