package httpapi_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/markdown"
)

const answerText = "# Plan\n\nFirst **this**:\n\n- one\n- two\n\n```go\nx := 1\n\ny := 2\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\nThe <script>end</script>."

// talk creates a run whose text arrives in small chunks, with other events in the middle of blocks.
func talk(h *house) *run {
	x := h.start("")
	r := h.claim()
	if r.id != x.ID {
		h.t.Fatalf("claimed %s", r.id)
	}
	r.say(userText("hi"))
	for i := 0; i < len(answerText); i += 3 {
		r.stream(0, int64(i), "token", answerText[i:min(i+3, len(answerText))])
		switch i {
		case 33:
			r.stream(1, 0, "thinking", "in the list")
		case 51:
			r.task("bash", "in the code")
		case 54:
			r.append(frame{AgentLease: &r.lease, Block: 2, Type: "data", Fields: []byte(`{"data":{"type":"file_write","path":"x"}}`)})
		}
	}
	r.say(assistantText(answerText))
	r.complete()
	return r
}

// htmlPage is the copy that a client of rendered HTML builds.
type htmlPage struct {
	parts  map[string]string // by seq and part
	final  map[string]bool
	events map[int64]string
	order  []string
}

func newHTMLPage() *htmlPage {
	return &htmlPage{parts: map[string]string{}, final: map[string]bool{}, events: map[int64]string{}}
}

func (p *htmlPage) fold(t *testing.T, e sse) {
	t.Helper()
	if e.event != "html" {
		if e.event == "token" {
			t.Errorf("raw text among the parts: %s", e.data)
		}
		if e.event != "end" && e.event != "ping" {
			if _, held := p.events[e.seq()]; !held {
				p.order = append(p.order, e.event)
			}
			p.events[e.seq()] += ""
			p.events[e.seq()] = e.event
		}
		if e.event == "block.closed" && e.fields["reason"] == "superseded" {
			p.withdraw(e.fields["blockSeq"])
		}
		return
	}
	name := fmt.Sprintf("%06.0f %04.0f", e.fields["seq"], e.fields["part"])
	if p.final[name] && p.parts[name] != e.fields["html"] {
		t.Errorf("the final part %s changes from %q to %q", name, p.parts[name], e.fields["html"])
	}
	p.parts[name] = e.fields["html"].(string)
	if e.fields["final"] == true && !p.final[name] {
		p.final[name] = true
		p.order = append(p.order, name)
	}
}

// withdraw drops the parts of a block, final or not.
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

func pageOf(t *testing.T, events []sse) *htmlPage {
	t.Helper()
	p := newHTMLPage()
	for _, e := range events {
		p.fold(t, e)
	}
	return p
}

// The joined final parts equal the rendering of the whole text. Other events come after the block
// that they would have broken, and nothing is lost.
func TestRenderedStreamEqualsTheRenderedText(t *testing.T) {
	h := open(t)
	r := talk(h)
	path := h.path(r.id, "/stream/consolidated")
	p := pageOf(t, h.follow(path+"?render=html").all())
	if got, want := p.html(), markdown.Render(answerText); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	for name := range p.parts {
		if !p.final[name] {
			t.Errorf("part %s is never final", name)
		}
	}
	kinds := map[string]int{}
	for _, e := range h.follow(path).all() {
		if e.event != "token" && e.event != "end" {
			kinds[e.event]++
			if p.events[e.seq()] != e.event {
				t.Errorf("event %d %s is missing", e.seq(), e.event)
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
	h.call("GET", path+"?render=pdf", "").problem(400, "invalid_argument", "")
}

func partWith(p *htmlPage, text string) string {
	for name, html := range p.parts {
		if strings.Contains(html, text) {
			return name
		}
	}
	return ""
}

// A rendered stream that is disconnected after any event and resumed from its id shows the same
// page.
func TestRenderedStreamCutAtEveryEventAndResumedEqualsWhole(t *testing.T) {
	h := open(t)
	r := talk(h)
	for _, kind := range []string{"/stream", "/stream/consolidated"} {
		path := h.path(r.id, kind) + "?render=html"
		whole := h.follow(path).all()
		want := pageOf(t, whole).picture()
		for i := range len(whole) - 2 {
			p := pageOf(t, whole[:i+1])
			for _, e := range h.follow(path, "Last-Event-ID", whole[i].id).all() {
				p.fold(t, e)
			}
			if got := p.picture(); got != want {
				t.Fatalf("%s cut after event %d (%s):\n%s\nwant\n%s", kind, i, whole[i].data, got, want)
			}
		}
	}
}

// Text is shown at once while the run is live, and the final page is the same. block.closed
// withdraws the parts of a superseded attempt.
func TestRenderedStreamWhileTheRunIsLive(t *testing.T) {
	h := open(t)
	x := h.start("")
	r := h.claim()
	s := h.follow(h.path(x.ID, "/stream") + "?render=html")
	p := newHTMLPage()
	next := func() sse {
		e := s.must()
		p.fold(t, e)
		return e
	}
	lease := r.schedule("llm-request", "one")
	r.append(frame{Lease: &lease, Type: "token", Text: "no newline ye"})
	for {
		if e := next(); e.event == "html" {
			if e.fields["final"] == true || e.fields["html"] != "<p>no newline ye</p>\n" {
				t.Errorf("shown at once is %s", e.data)
			}
			break
		}
	}
	r.fail(lease)
	var closed sse
	for closed.event != string(perdure.EventBlockClosed) {
		closed = next()
	}
	if closed.fields["reason"] != "superseded" || len(p.final) != 0 {
		t.Errorf("superseded: %s, final parts %v", closed.data, p.final)
	}
	// Final parts are withdrawn, too, if their block is superseded after its end.
	lease = r.schedule("llm-request", "two")
	r.append(frame{Lease: &lease, Type: "token", Text: "said", Close: true})
	for len(p.final) == 0 {
		next()
	}
	r.fail(lease)
	for e := next(); e.event != string(perdure.EventBlockClosed) || e.fields["reason"] != "superseded"; e = next() {
	}
	if len(p.final) != 0 || strings.Contains(p.html(), "said") {
		t.Errorf("superseded after its end: final parts %v, the page is %s", p.final, p.html())
	}
	r.stream(5, 0, "token", "- a\n")
	r.stream(5, 4, "token", "- b\n\nx")
	r.complete()
	for e := next(); e.event != "end"; e = next() {
	}
	if !strings.HasSuffix(p.html(), "<ul>\n<li>a</li>\n<li>b</li>\n</ul>\n<p>x</p>\n") {
		t.Errorf("the page is %s", p.html())
	}
}
