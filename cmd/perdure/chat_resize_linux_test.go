package main

import (
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/charmbracelet/x/vt"
	"github.com/perdure/perdure/internal/longtest"
)

// rewrap changes the width of the screen, as most terminals do: rows that are too long continue in the
// next row, and the cursor stays at its character.
func (s *chatScreen) rewrap(width int) {
	s.Helper()
	text, _ := s.text()
	s.mu.Lock()
	defer s.mu.Unlock()
	at := s.vt.CursorPosition()
	at.Y += s.vt.ScrollbackLen()
	rows := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	for len(rows) <= at.Y {
		rows = append(rows, "")
	}
	var wrapped []string
	x, y := 0, 0
	for i, row := range rows {
		if i == at.Y {
			x, y = at.X%width, len(wrapped)+at.X/width
		}
		letters := []rune(row)
		for len(letters) > width {
			wrapped = append(wrapped, string(letters[:width]))
			letters = letters[width:]
		}
		wrapped = append(wrapped, string(letters))
	}
	next := vt.NewEmulator(width, 24)
	go func() { _, _ = io.Copy(s.master, next) }() // the answers of the terminal to queries
	_, _ = io.WriteString(next, strings.Join(wrapped, "\r\n"))
	scrolled := max(len(wrapped)-24, 0)
	_, _ = fmt.Fprintf(next, "\x1b[%d;%dH", y-scrolled+1, x+1)
	_ = s.vt.Close()
	s.vt = next
	s.resize(width)
}

// A window that becomes narrower, and wide again, has the input line once, and no row of the output
// is lost.
func TestChatInANarrowerWindow(t *testing.T) {
	longtest.Skip(t, "seconds")
	dir := t.TempDir()
	write(t, dir, "s", "turn\n  text First.\n")
	s := onScreen(t, dir, 120, "chat", "--model", "scripted/s", "hello")
	s.shows("First.")
	s.ready()
	for i := range 2 {
		s.enter("/help")
		s.until("the help", func(text string) bool { return strings.Count(text, "Ctrl-D ends the chat") == i+1 })
	}
	var words []string
	for i := range 30 {
		words = append(words, fmt.Sprintf("word%d", i))
	}
	s.keys(strings.Join(words, " "))
	s.shows("word29\n")
	for _, width := range []int{80, 60, 40, 90, 50, 120} {
		s.rewrap(width)
		text := s.until(fmt.Sprintf("the input line at %d columns", width), func(text string) bool {
			at := strings.LastIndex(text, "\n› ")
			status := strings.LastIndex(text, "\nscripted/s · your turn")
			return at >= 0 && status > at && strings.Join(strings.Fields(strings.TrimPrefix(text[at:status], "\n› ")), " ") == strings.Join(words, " ") && longest(text[at:status]) <= width && longest(text[at:status]) > width/2
		})
		if strings.Count(text, "word0 ") != 1 || strings.Count(text, "word29\n") != 1 {
			t.Fatalf("at %d columns rows of the input are left:\n%s", width, text)
		}
		said := strings.Join(strings.Fields(text), "")
		if !strings.Contains(said, "›helloFirst.") || strings.Count(said, "Ctrl-Dendsthechat") != 2 {
			t.Fatalf("at %d columns output is lost:\n%s", width, text)
		}
	}
	s.keys(keyCtrlC + keyCtrlD)
	s.ends(4)
}

// longest returns the length of the longest line.
func longest(text string) int {
	most := 0
	for line := range strings.SplitSeq(text, "\n") {
		most = max(most, len([]rune(line)))
	}
	return most
}
