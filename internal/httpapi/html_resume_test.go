package httpapi_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/perdure/perdure/internal/markdown"
)

// hardTexts are answers whose part numbers once depended on what a reader had been shown before.
var hardTexts = map[string]string{
	"blank lines first":     "\n\nFirst.\n\nSecond.\n\nThird.",
	"table after paragraph": "Look:\n| a | b |\n|---|---|\n| 1 | 2 |\n\nAfter.\n\nEnd.",
	"definition":            "[a]: /u\n\n[a] is it.\n\n[b]: /v\n\nEnd.",
	"no-break space":        "a\n\u00a0\nb\n\nEnd.",
	"list and table":        "- a\n- b\n\n\n\n| a |\n|---|\n| 1 |\n\n```\nx\n```\nEnd.",
}

// The text of an answer is divided into chunks at any point, and the stream is disconnected after
// any event. The resumed stream shows the same parts.
func TestRenderedPartsAreTheSameFromEveryCursor(t *testing.T) {
	for name, text := range hardTexts {
		t.Run(name, func(t *testing.T) {
			h := open(t)
			x := h.start("")
			r := h.claim()
			live := h.follow(h.path(x.ID, "/stream") + "?render=html")
			p := newHTMLPage()
			for i := 0; i < len(text); i++ {
				if text[i]&0xC0 == 0xC0 { // a character of two bytes
					r.stream(0, int64(i), "token", text[i:i+2])
					i++
					continue
				}
				r.stream(0, int64(i), "token", text[i:i+1])
			}
			r.say(assistantText(text))
			r.complete()
			for e := live.must(); e.event != "end"; e = live.must() {
				p.fold(t, e)
			}
			if got, want := p.html(), markdown.Render(text); got != want {
				t.Errorf("live: %q, want %q", got, want)
			}
			path := h.path(r.id, "/stream") + "?render=html"
			whole := h.follow(path).all()
			want := finalParts(whole)
			if got := fmt.Sprint(p.parts); got != fmt.Sprint(pageOf(t, whole).parts) {
				t.Errorf("live %s, read again %s", got, fmt.Sprint(pageOf(t, whole).parts))
			}
			for _, e := range append(h.follow(h.path(r.id, "/stream")).all(), whole...) {
				if e.event != "token" && e.event != "html" {
					continue
				}
				rest := h.follow(path, "Last-Event-ID", e.id).all()
				for part, html := range finalParts(rest) {
					if want[part] != html {
						t.Fatalf("after %s part %s is %q, want %q", e.data, part, html, want[part])
					}
				}
			}
		})
	}
}

func finalParts(events []sse) map[string]string {
	parts := map[string]string{}
	for _, e := range events {
		if e.event == "html" && e.fields["final"] == true {
			parts[fmt.Sprint(e.fields["seq"], "/", e.fields["part"])] = strings.TrimSpace(e.fields["html"].(string))
		}
	}
	return parts
}
