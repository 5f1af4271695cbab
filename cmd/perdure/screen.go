package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"sync"
	"unicode/utf8"
)

// screen is an output of a command: standard output or standard error. All output goes through it.
// Write makes control sequences visible, so that text from others cannot control the terminal. It
// is safe for concurrent use: log lines come from other goroutines than the command's own.
type screen struct {
	w io.Writer

	mu   sync.Mutex
	cut  []byte // the beginning of an incomplete character
	show shower
	held *bufio.Writer // of w, between hold and release
}

func newScreen(w io.Writer) *screen { return &screen{w: w} }

// hold begins buffering, for a command with much output. The caller must call release.
func (s *screen) hold() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.held == nil {
		s.held = bufio.NewWriterSize(s.w, 64<<10)
	}
}

// release writes the buffered output, and returns the writer's first error.
func (s *screen) release() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	held := s.held
	s.held = nil
	if held == nil {
		return nil
	}
	return held.Flush()
}

// out returns the writer for the next write; mu is held.
func (s *screen) out() io.Writer {
	if s.held != nil {
		return s.held
	}
	return s.w
}

// Write implements io.Writer. It writes text and JSON. Characters may be split between writes.
func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	text := append(s.cut, p...)
	whole := len(text) - unfinished(text)
	s.cut = append([]byte(nil), text[whole:]...)
	if _, err := io.WriteString(s.out(), s.show.show(string(text[:whole]))); err != nil {
		return 0, err
	}
	return len(p), nil
}

// unfinished returns the number of bytes at the end of a text that begin an incomplete character.
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

// say writes one or more lines. Arguments that are text are reduced to one line: a name with a line
// end cannot imitate another line.
func (s *screen) say(format string, args ...any) error {
	_, err := fmt.Fprintf(s, format+"\n", inlined(args)...)
	return err
}

func inlined(args []any) []any {
	all := make([]any, len(args))
	for i, arg := range args {
		switch v := arg.(type) {
		case error:
			arg = inline(v.Error())
		case fmt.Stringer:
			arg = inline(v.String())
		case string:
			arg = inline(v)
		default:
			if text := fmt.Sprint(v); inline(text) != text {
				arg = inline(text)
			}
		}
		all[i] = arg
	}
	return all
}

// answer writes output for other programs: unchanged, unless the output is a terminal.
func (s *screen) answer(text string) error {
	if isTerminal(s) {
		_, err := fmt.Fprintln(s, text)
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	_, err := fmt.Fprintln(s.out(), text)
	return err
}

// paint writes text that the caller has styled. Color sequences and the sequences that erase a line
// pass. Everything else becomes visible.
func (s *screen) paint(text string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !strings.Contains(text, "\x1b") { // most texts have none, and the search is slow
		_, err := io.WriteString(s.out(), s.show.show(text))
		return err
	}
	var b strings.Builder
	for text != "" {
		at := own.FindStringIndex(text)
		if at == nil {
			at = []int{len(text), len(text)}
		}
		b.WriteString(s.show.show(text[:at[0]]))
		b.WriteString(text[at[0]:at[1]])
		text = text[at[1]:]
	}
	_, err := io.WriteString(s.out(), b.String())
	return err
}

// own matches the sequences that this program writes: SGR of ECMA-48, which sets colors, and EL
// after a carriage return, which erases the line.
var own = regexp.MustCompile(`\x1b\[[0-9;:]*m|\r\x1b\[2?K`)

// file returns the file of a screen, nil if there is none.
func (s *screen) file() *os.File {
	f, _ := s.w.(*os.File)
	return f
}
