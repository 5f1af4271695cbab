package engine

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// FuzzFrames sends a text in pieces that are cut anywhere, overlap, come again
// and leave holes, as plan says: what is held is always a beginning of the text,
// and sending on from where the server stands completes it.
func FuzzFrames(f *testing.F) {
	f.Add("hello world", []byte{0, 5, 3, 9, 20, 1})
	f.Add("é€😀 and more", []byte{0, 1, 1, 4, 0, 255, 7, 7})
	f.Add("abc", []byte{})
	f.Add(strings.Repeat("0123456789", 30), []byte{0, 100, 50, 100, 0, 0, 200, 3})
	f.Fuzz(func(t *testing.T, text string, plan []byte) {
		text = strings.ToValidUTF8(text, "")
		if text == "" {
			return // nothing is no block
		}
		_, s := newSource(t)
		held := int64(0)
		for ; len(plan) >= 2; plan = plan[2:] {
			from := min(int(plan[0]), len(text))
			to := min(from+int(plan[1]), len(text))
			for from > 0 && from < len(text) && !utf8.RuneStart(text[from]) {
				from--
			}
			for to < len(text) && !utf8.RuneStart(text[to]) {
				to++
			}
			r := s.send(s.frame(1, int64(from), text[from:to]))[0]
			if want := max(held, int64(to)); r.Err != nil || (int64(from) <= held && r.Held != want) || (int64(from) > held && r.Held != held) {
				t.Fatalf("%d to %d of %d held answered %+v", from, to, held, r)
			}
			held = r.Held
			if held > int64(len(text)) || s.shown() != text[:held] {
				t.Fatalf("%d bytes are held as %q of %q", held, s.shown(), text)
			}
		}
		last := s.frame(1, held, text[held:])
		last.Close = true
		for range 2 {
			if r := s.send(last)[0]; r.Err != nil || r.Held != int64(len(text)) {
				t.Fatalf("the rest answered %+v", r)
			}
		}
		if s.shown() != text {
			t.Errorf("%q was put together as %q", text, s.shown())
		}
	})
}

// shown is the text of the one block that the source has.
func (s source) shown() string {
	s.Helper()
	all := ""
	for _, text := range s.text() {
		all += text
	}
	return all
}
