package main

import (
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/charmbracelet/x/vt"
	"github.com/perdure/perdure/internal/longtest"
)

// rewrap changes the width of the emulated terminal in the way of most terminals: a row that becomes too
// long continues in the next row, and the cursor stays at its character.
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
	go func() { _, _ = io.Copy(s.master, next) }() // the terminal's replies to queries of the program
	_, _ = io.WriteString(next, strings.Join(wrapped, "\r\n"))
	scrolled := max(len(wrapped)-24, 0)
	_, _ = fmt.Fprintf(next, "\x1b[%d;%dH", y-scrolled+1, x+1)
	_ = s.vt.Close()
	s.vt = next
	s.resize(width)
}

// beforeCursor returns the part of the cursor's row that is left of the cursor.
func (s *chatScreen) beforeCursor() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := s.vt.CursorPosition()
	var row strings.Builder
	for x := range at.X {
		if cell := s.vt.CellAt(x, at.Y); cell != nil {
			row.WriteString(cell.Content)
		}
	}
	return row.String()
}

// TestChatInANarrowerWindow makes the window of a chat narrower and then wide again. It checks that the
// screen then shows the input line once, and that no row of the output is lost.
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
	s.until("the input line", func(string) bool { return strings.HasSuffix(s.beforeCursor(), "word29") })
	for _, width := range []int{80, 60, 40, 90, 50, 120} {
		s.rewrap(width)
		text := s.until(fmt.Sprintf("the input line at %d columns", width), func(text string) bool {
			begin, end := strings.LastIndex(text, "\n› "), strings.LastIndex(text, "\nscripted/s · your turn")
			return strings.HasSuffix(s.beforeCursor(), "word29") && begin >= 0 && end > begin && drawn(text[begin+1:end], words, width)
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

// drawn reports whether the program itself has wrapped the input line for a terminal of the width. The
// program indents the rows after the first one; the terminal does not.
func drawn(text string, words []string, width int) bool {
	rows := strings.Split(strings.TrimPrefix(text, "› "), "\n")
	for i, row := range rows {
		if len(row) > width || i > 0 && !strings.HasPrefix(row, "  word") || i < len(rows)-1 && len(row) < width-15 {
			return false
		}
	}
	return strings.Join(strings.Fields(strings.Join(rows, " ")), " ") == strings.Join(words, " ")
}
