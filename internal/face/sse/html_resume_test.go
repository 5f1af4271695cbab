package sse_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/perdure/perdure/internal/longtest"
	"github.com/perdure/perdure/internal/markdown"
)

// hardTexts are texts with which an earlier htmlView failed: a stream that resumed inside such a
// text gave the rendered parts numbers that differ from those of an uninterrupted stream.
var hardTexts = map[string]string{
	"blank lines first":     "\n\nFirst.\n\nSecond.\n\nThird.",
	"table after paragraph": "Look:\n| a | b |\n|---|---|\n| 1 | 2 |\n\nAfter.\n\nEnd.",
	"definition":            "[a]: /u\n\n[a] is it.\n\n[b]: /v\n\nEnd.",
	"no-break space":        "a\n\u00a0\nb\n\nEnd.",
	"list and table":        "- a\n- b\n\n\n\n| a |\n|---|\n| 1 |\n\n```\nx\n```\nEnd.",
}

// TestRenderedPartsAreTheSameFromEveryCursor checks that a client gets the same rendered parts,
// with the same numbers, whether the text is streamed character by character, read again, or
// resumed after any event.
func TestRenderedPartsAreTheSameFromEveryCursor(t *testing.T) {
	longtest.Skip(t, "seconds")
	for name, text := range hardTexts {
		t.Run(name, func(t *testing.T) {
			h := open(t)
			x := h.Start("")
			r := h.Claim()
			live := h.Follow(h.Path(x.ID, "/stream") + "?render=html")
			p := newHTMLPage()
			for i := 0; i < len(text); i++ {
				if text[i]&0xC0 == 0xC0 { // a character of two bytes
					r.Stream(0, int64(i), "token", text[i:i+2])
					i++
					continue
				}
				r.Stream(0, int64(i), "token", text[i:i+1])
			}
			r.Say(assistantText(text))
			r.Complete()
			for e := live.Must(); e.Event != "end"; e = live.Must() {
				p.fold(t, e)
			}
			if got, want := p.html(), markdown.Render(text); got != want {
				t.Errorf("live: %q, want %q", got, want)
			}
			path := h.Path(r.ID, "/stream") + "?render=html"
			whole := h.Follow(path).All()
			want := finalParts(whole)
			if got := fmt.Sprint(p.parts); got != fmt.Sprint(pageOf(t, whole).parts) {
				t.Errorf("live %s, read again %s", got, fmt.Sprint(pageOf(t, whole).parts))
			}
			for _, e := range append(h.Follow(h.Path(r.ID, "/stream")).All(), whole...) {
				if e.Event != "token" && e.Event != "html" {
					continue
				}
				rest := h.Follow(path, "Last-Event-ID", e.ID).All()
				for part, html := range finalParts(rest) {
					if want[part] != html {
						t.Fatalf("after %s part %s is %q, want %q", e.Data, part, html, want[part])
					}
				}
			}
		})
	}
}

func finalParts(events []sseEvent) map[string]string {
	parts := map[string]string{}
	for _, e := range events {
		if e.Event == "html" && e.Fields["final"] == true {
			parts[fmt.Sprint(e.Fields["seq"], "/", e.Fields["part"])] = strings.TrimSpace(e.Fields["html"].(string))
		}
	}
	return parts
}
