package sse_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/markdown"
)

// htmlPage is the content that a client builds from a stream with rendered HTML.
type htmlPage struct {
	parts  map[string]string // by the seq of the block and the number of the part
	final  map[string]bool
	events map[int64]string
	order  []string
}

func newHTMLPage() *htmlPage {
	return &htmlPage{parts: map[string]string{}, final: map[string]bool{}, events: map[int64]string{}}
}

func (p *htmlPage) fold(t *testing.T, e sseEvent) {
	t.Helper()
	if e.Event != "html" {
		if e.Event == "token" {
			t.Errorf("raw text among the parts: %s", e.Data)
		}
		if e.Event != "end" && e.Event != "ping" {
			if _, held := p.events[e.Seq()]; !held {
				p.order = append(p.order, e.Event)
			}
			p.events[e.Seq()] += ""
			p.events[e.Seq()] = e.Event
		}
		if e.Event == "block.closed" && e.Fields["reason"] == "superseded" {
			p.withdraw(e.Fields["blockSeq"])
		}
		return
	}
	name := fmt.Sprintf("%06.0f %04.0f", e.Fields["seq"], e.Fields["part"])
	if p.final[name] && p.parts[name] != e.Fields["html"] {
		t.Errorf("the final part %s changes from %q to %q", name, p.parts[name], e.Fields["html"])
	}
	p.parts[name] = e.Fields["html"].(string)
	if e.Fields["final"] == true && !p.final[name] {
		p.final[name] = true
		p.order = append(p.order, name)
	}
}

// withdraw drops all rendered parts of a block, including those that were marked as final.
func (p *htmlPage) withdraw(block any) {
	mine := func(name string, _ bool) bool { return strings.HasPrefix(name, fmt.Sprintf("%06.0f ", block)) }
	maps.DeleteFunc(p.parts, func(name, _ string) bool { return mine(name, false) })
	maps.DeleteFunc(p.final, mine)
}

func (p *htmlPage) html() string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(p.parts)) {
		b.WriteString(p.parts[name])
	}
	return b.String()
}

func (p *htmlPage) picture() string {
	return fmt.Sprint(p.parts, p.final, p.events, p.order)
}

func pageOf(t *testing.T, events []sseEvent) *htmlPage {
	t.Helper()
	p := newHTMLPage()
	for _, e := range events {
		p.fold(t, e)
	}
	return p
}

// TestRenderedStreamEqualsTheRenderedText checks that the rendered parts of a stream, concatenated,
// equal the rendering of the whole text. An event that occurs inside a list or a code block is sent
// after the list or code block; only the event of a written file is sent at once. No event is lost.
func TestRenderedStreamEqualsTheRenderedText(t *testing.T) {
	h := open(t)
	r := talk(h)
	path := h.Path(r.ID, "/stream/consolidated")
	p := pageOf(t, h.Follow(path+"?render=html").All())
	if got, want := p.html(), markdown.Render(answerText); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	for name := range p.parts {
		if !p.final[name] {
			t.Errorf("part %s is never final", name)
		}
	}
	kinds := map[string]int{}
	for _, e := range h.Follow(path).All() {
		if e.Event != "token" && e.Event != "end" {
			kinds[e.Event]++
			if p.events[e.Seq()] != e.Event {
				t.Errorf("event %d %s is missing", e.Seq(), e.Event)
			}
		}
	}
	list, code := partWith(p, "<ul>"), partWith(p, "x := 1")
	at := func(name string) int { return slices.Index(p.order, name) }
	if at("thinking") != at(list)+1 {
		t.Errorf("the thought came not right after the list: %v", p.order)
	}
	if at("task.scheduled") != at(code)+1 || at("task.completed") != at(code)+3 {
		t.Errorf("the task's events came not right after the code: %v", p.order)
	}
	if at("data") > at(code) {
		t.Errorf("the file's event waited: %v", p.order)
	}
	h.Call("GET", path+"?render=pdf", "").Problem(400, "invalid_argument", "")
}

func partWith(p *htmlPage, text string) string {
	for name, html := range p.parts {
		if strings.Contains(html, text) {
			return name
		}
	}
	return ""
}

// TestRenderedStreamCutAtEveryEventAndResumedEqualsWhole checks that a client that reads a rendered
// stream up to any event, and resumes after it, has the same content as a client that read the
// stream without an interruption.
func TestRenderedStreamCutAtEveryEventAndResumedEqualsWhole(t *testing.T) {
	h := open(t)
	r := talk(h)
	for _, kind := range []string{"/stream", "/stream/consolidated"} {
		path := h.Path(r.ID, kind) + "?render=html"
		whole := h.Follow(path).All()
		want := pageOf(t, whole).picture()
		for i := range len(whole) - 2 {
			p := pageOf(t, whole[:i+1])
			for _, e := range h.Follow(path, "Last-Event-ID", whole[i].ID).All() {
				p.fold(t, e)
			}
			if got := p.picture(); got != want {
				t.Fatalf("%s cut after event %d (%s):\n%s\nwant\n%s", kind, i, whole[i].Data, got, want)
			}
		}
	}
}

// TestRenderedStreamWhileTheRunIsLive checks that an unfinished line of a live run is rendered at
// once. The event block.closed withdraws the rendered parts of a superseded attempt. The text that
// the agent itself streams after that is completely rendered when the run ends.
func TestRenderedStreamWhileTheRunIsLive(t *testing.T) {
	h := open(t)
	x := h.Start("")
	r := h.Claim()
	s := h.Follow(h.Path(x.ID, "/stream") + "?render=html")
	p := newHTMLPage()
	next := func() sseEvent {
		e := s.Must()
		p.fold(t, e)
		return e
	}
	lease := r.Schedule("llm-request", "one")
	r.Append(frame{Lease: &lease, Type: "token", Text: "no newline ye"})
	for {
		if e := next(); e.Event == "html" {
			if e.Fields["final"] == true || e.Fields["html"] != "<p>no newline ye</p>\n" {
				t.Errorf("shown at once is %s", e.Data)
			}
			break
		}
	}
	r.Fail(lease)
	var closed sseEvent
	for closed.Event != string(perdure.EventBlockClosed) {
		closed = next()
	}
	if closed.Fields["reason"] != "superseded" || len(p.final) != 0 {
		t.Errorf("superseded: %s, final parts %v", closed.Data, p.final)
	}
	// Even parts that are marked as final are withdrawn if their block is superseded after its end.
	lease = r.Schedule("llm-request", "two")
	r.Append(frame{Lease: &lease, Type: "token", Text: "said", Close: true})
	for len(p.final) == 0 {
		next()
	}
	r.Fail(lease)
	for e := next(); e.Event != string(perdure.EventBlockClosed) || e.Fields["reason"] != "superseded"; e = next() {
	}
	if len(p.final) != 0 || strings.Contains(p.html(), "said") {
		t.Errorf("superseded after its end: final parts %v, the page is %s", p.final, p.html())
	}
	r.Stream(5, 0, "token", "- a\n")
	r.Stream(5, 4, "token", "- b\n\nx")
	r.Complete()
	for e := next(); e.Event != "end"; e = next() {
	}
	if !strings.HasSuffix(p.html(), "<ul>\n<li>a</li>\n<li>b</li>\n</ul>\n<p>x</p>\n") {
		t.Errorf("the page is %s", p.html())
	}
}
