package terminal

import (
	"bufio"
	"context"
	"io"
	"strings"
)

// LineReader reads lines of standard input.
type LineReader struct {
	In    io.Reader
	lines *bufio.Scanner
	read  chan readLine // receives the result of the read in the background; nil if there is none
}

// readLine is the result of a read; ok is false at the end of the input.
type readLine struct {
	text string
	ok   bool
}

// Read returns the next line of the input; false at the end of the input. If ctx ends first, Read
// returns the cause, but the read continues in the background. The next call of Read returns the
// line from that read.
func (r *LineReader) Read(ctx context.Context) (string, bool, error) {
	if r.lines == nil {
		r.lines = bufio.NewScanner(r.In)
		r.lines.Buffer(nil, 8<<20)
	}
	if r.read == nil {
		got := make(chan readLine, 1)
		r.read = got
		go func() {
			ok := r.lines.Scan()
			got <- readLine{strings.TrimSpace(r.lines.Text()), ok}
		}()
	}
	select {
	case line := <-r.read:
		r.read = nil
		if !line.ok {
			return "", false, r.lines.Err()
		}
		return line.text, true, nil
	case <-ctx.Done():
		return "", false, context.Cause(ctx)
	}
}
