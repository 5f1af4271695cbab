package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/perdure/perdure/internal/longtest"
)

// TestChatKeepsFullRows checks that a row that is exactly as wide as the terminal loses no character,
// for every kind of output.
func TestChatKeepsFullRows(t *testing.T) {
	longtest.Skip(t, "seconds")
	for _, width := range []int{80, 120} {
		t.Run(fmt.Sprint(width), func(t *testing.T) {
			dir := t.TempDir()
			const letters = "abcdefghijklmnopqrstuvwxyz"
			long := strings.Repeat(letters, 12)
			write(t, dir, "s", "turn\n  thinking "+long+"\n  text "+long+"\n  call bash {\"command\": \"echo "+long+"\"}\nturn\n  text Done.\n")
			s := onScreen(t, dir, width, "chat", "--model", "scripted/s", "--approve", "ask", "--confine", "off", long)
			s.shows("n to deny ›")
			s.enter("y")
			s.shows("Done.")
			text := s.ready()
			s.keys(keyCtrlD)
			s.ends(4)
			var b strings.Builder
			for line := range strings.Lines(text) {
				b.WriteString(strings.Trim(line, " ›┊│\n"))
			}
			// The long text is in the message, the thinking, the answer, the question, and the call
			// with its output. The title of the run is cut, so it does not count.
			if n := strings.Count(b.String(), long); n < 5 {
				t.Errorf("%d of 5 texts are whole:\n%s", n, text)
			}
		})
	}
}
