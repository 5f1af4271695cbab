package sse_test

import (
	"strings"
	"testing"

	"github.com/perdure/perdure"
)

// TestRenderedCompactionIsADivider checks that a rendered stream shows a compaction as a divider
// between the messages, with the sanitized summary. A resumed stream shows the same.
func TestRenderedCompactionIsADivider(t *testing.T) {
	h := open(t)
	x := h.Start("")
	r := h.Claim()
	asked := r.Say(userText("hi"))
	r.Compact(perdure.CompactionRecord{
		Last: asked.ID, Reason: perdure.CompactionAutomatic, Messages: 48, TokensBefore: 112_000, TokensAfter: 4_000,
	}, "**Goal** <script>alert(1)</script>")
	r.Say(assistantText("hello"))
	r.Complete()
	for _, kind := range []string{"/stream", "/stream/consolidated"} {
		path := h.Path(x.ID, kind) + "?render=html"
		whole := h.Follow(path).All()
		want := pageOf(t, whole)
		got := want.html()
		if !strings.HasPrefix(got, `<details data-kind="compaction"><summary>48 messages summarized, 112 k → 4.0 k tokens</summary>`) ||
			!strings.Contains(got, "<strong>Goal</strong>") || strings.Contains(got, "<script") || !strings.HasSuffix(got, "</details>\n") {
			t.Errorf("%s: %q", kind, got)
		}
		for i := range len(whole) - 2 {
			p := pageOf(t, whole[:i+1])
			for _, e := range h.Follow(path, "Last-Event-ID", whole[i].ID).All() {
				p.fold(t, e)
			}
			if p.picture() != want.picture() {
				t.Errorf("%s cut after event %d: %s, want %s", kind, i, p.picture(), want.picture())
			}
		}
		none := h.Follow(path + "&types=token").All()
		for _, e := range none {
			if e.Event == "html" {
				t.Errorf("%s with texts alone has %s", kind, e.Data)
			}
		}
	}
}
