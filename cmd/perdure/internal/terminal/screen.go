// Package terminal prints what commands show: text and JSON to standard streams, tables, and the
// events of a run for people and for programs. No text that it prints can control the terminal.
package terminal

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"unicode/utf8"

	"github.com/perdure/perdure/internal/visible"
)

// Screen is an output of a command: standard output or standard error. All output goes through it.
// Write makes control sequences visible, so that text of models, tools and people cannot control
// the terminal. A Screen is safe for concurrent use: log lines come from other goroutines than the
// command's own.
type Screen struct {
	w io.Writer

	mu      sync.Mutex
	cut     []byte // the beginning of an incomplete character
	escaper visible.Escaper
	buffer  *bufio.Writer // buffers output to w between Hold and Release
	frame   Frame         // shows the output instead of w, if set
	framed  atomic.Bool   // frame is set; mu is not needed to read it
}

// Frame draws on the terminal, for example an input line, and shows the output of screens above
// what it draws. After each row of output it may erase the rest of the row. Because that would
// erase the last character of a full row, rows end one column before the edge. Text without a line
// end is shown until it is complete, or until [EraseLine] erases it.
type Frame interface {
	io.Writer
	// SetOpen shows an incomplete text, of one or more lines, until the next write.
	SetOpen(text string)
}

// Streams are the standard streams of a command.
type Streams struct {
	Stdin          io.Reader
	Stdout, Stderr *Screen
}

// Redirect makes f show all output of those screens that are terminals, until the returned function
// `restore` is called. The screens still count as terminals.
func (s Streams) Redirect(f Frame) (restore func()) {
	for _, one := range []*Screen{s.Stdout, s.Stderr} {
		if IsTerminal(one) {
			one.setFrame(f)
		}
	}
	return func() {
		s.Stdout.setFrame(nil)
		s.Stderr.setFrame(nil)
	}
}

func (s *Screen) setFrame(f Frame) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.frame = f
	s.framed.Store(f != nil)
}

// Frame returns the Frame that shows the output of the screen (see Redirect). It returns nil if the
// output goes directly to the writer that NewScreen got.
func (s *Screen) Frame() Frame {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.frame
}

// Device returns the writer that NewScreen got, also while a Frame shows the output. The Frame
// draws on this writer.
func (s *Screen) Device() io.Writer { return s.w }

// NewScreen returns a screen that writes to w.
func NewScreen(w io.Writer) *Screen { return &Screen{w: w} }

// Hold makes the screen buffer its output, for a command that prints much. The caller must call Release.
func (s *Screen) Hold() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.buffer == nil {
		s.buffer = bufio.NewWriterSize(s.out(), 64<<10)
	}
}

// Release writes the buffered output, and returns the writer's first error.
func (s *Screen) Release() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	held := s.buffer
	s.buffer = nil
	if held == nil {
		return nil
	}
	return held.Flush()
}

// out returns where the next write goes: the buffer, the frame or the writer. The caller holds mu.
func (s *Screen) out() io.Writer {
	switch {
	case s.buffer != nil:
		return s.buffer
	case s.frame != nil:
		return s.frame
	}
	return s.w
}

// Write implements io.Writer. It writes text and JSON. Characters may be split between writes.
func (s *Screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	text := append(s.cut, p...)
	whole := len(text) - unfinished(text)
	s.cut = append([]byte(nil), text[whole:]...)
	if _, err := io.WriteString(s.out(), s.escaper.Escape(string(text[:whole]))); err != nil {
		return 0, err
	}
	return len(p), nil
}

// unfinished returns the number of bytes of an incomplete UTF-8 character at the end of a text.
func unfinished(text []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(text); n++ {
		last := text[len(text)-n:]
		if utf8.RuneStart(last[0]) {
			if utf8.FullRune(last) {
				return 0
			}
			return n
		}
	}
	return 0
}

// Linef writes one or more lines. Each text in `args` is reduced to one line, so that a name with a
// line end cannot look like another line of output.
func (s *Screen) Linef(format string, args ...any) error {
	_, err := fmt.Fprintf(s, format+"\n", InlineArgs(args)...)
	return err
}

// InlineArgs returns the arguments for a format, with each text among them reduced to one line by Inline.
func InlineArgs(args []any) []any {
	all := make([]any, len(args))
	for i, arg := range args {
		switch v := arg.(type) {
		case error:
			arg = Inline(v.Error())
		case fmt.Stringer:
			arg = Inline(v.String())
		case string:
			arg = Inline(v)
		default:
			if text := fmt.Sprint(v); Inline(text) != text {
				arg = Inline(text)
			}
		}
		all[i] = arg
	}
	return all
}

// ClearAll erases the whole terminal and moves to its first line. If the screen is not a terminal, it does
// nothing.
func (s *Screen) ClearAll() error {
	if !IsTerminal(s) {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	_, err := io.WriteString(s.out(), "\x1b[H\x1b[2J")
	return err
}

// WriteAnswer writes output that other programs read. Unless the screen is a terminal, it writes the text
// unchanged.
func (s *Screen) WriteAnswer(text string) error {
	if IsTerminal(s) {
		_, err := fmt.Fprintln(s, text)
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	_, err := fmt.Fprintln(s.out(), text)
	return err
}

// writeStyled writes text that the caller has styled. It writes color sequences and the sequences
// that erase a line unchanged. It makes all other control characters visible.
func (s *Screen) writeStyled(text string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !strings.Contains(text, "\x1b") { // most texts have none, and the search is slow
		_, err := io.WriteString(s.out(), s.escaper.Escape(text))
		return err
	}
	var b strings.Builder
	for text != "" {
		at := ownSequences.FindStringIndex(text)
		if at == nil {
			at = []int{len(text), len(text)}
		}
		b.WriteString(s.escaper.Escape(text[:at[0]]))
		b.WriteString(text[at[0]:at[1]])
		text = text[at[1]:]
	}
	_, err := io.WriteString(s.out(), b.String())
	return err
}

// ownSequences matches the sequences that this program writes: SGR of ECMA-48, which sets colors,
// and EL after a carriage return, which erases the line.
var ownSequences = regexp.MustCompile(`\x1b\[[0-9;:]*m|\r\x1b\[2?K`)

// file returns the file that the screen writes to; nil if its writer is not a file.
func (s *Screen) file() *os.File {
	f, _ := s.w.(*os.File)
	return f
}

// PrintJSONLine writes a value as JSON on one line.
func (s *Screen) PrintJSONLine(v any) error {
	e := json.NewEncoder(s)
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

// PrintJSON writes a value as indented JSON.
func (s *Screen) PrintJSON(v any) error {
	e := json.NewEncoder(s)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}
