package terminal

import (
	"fmt"
	"time"
)

// ProgressLine is a line on standard error that shows how far a command is. In a terminal each
// update overwrites the line; in a file or a pipe each update is a separate line, and there are
// fewer updates.
type ProgressLine struct {
	out  *Screen
	over bool
	at   time.Time
}

// Progress returns a line that shows the progress of a command on the screen.
func (s *Screen) Progress() *ProgressLine { return &ProgressLine{out: s, over: IsTerminal(s)} }

// Update shows a new text in the line. It does nothing if the last update was very recent.
func (l *ProgressLine) Update(format string, args ...any) {
	pause, begin, end := 10*time.Second, "", "\n"
	if l.over {
		pause, begin, end = 100*time.Millisecond, "\r\x1b[K", ""
	}
	if time.Since(l.at) < pause {
		return
	}
	l.at = time.Now()
	_ = l.out.writeStyled(begin + fmt.Sprintf(format, InlineArgs(args)...) + end)
}

// Clear erases the line in a terminal.
func (l *ProgressLine) Clear() {
	if l.over {
		_ = l.out.writeStyled("\r\x1b[K")
	}
}

// End replaces the line with a text that stays.
func (l *ProgressLine) End(format string, args ...any) {
	l.Clear()
	_ = l.out.Linef(format, args...)
}

// EraseOpen erases the incomplete line at the end of the output.
func (s *Screen) EraseOpen() error { return s.writeStyled(EraseLine) }
