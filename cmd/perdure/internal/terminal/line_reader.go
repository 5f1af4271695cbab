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
}

// Read reads a line. It returns early if ctx ends; the read then continues in the background until
// the program ends.
func (r *LineReader) Read(ctx context.Context) (string, bool, error) {
	type read struct {
		text string
		ok   bool
	}
	if r.lines == nil {
		r.lines = bufio.NewScanner(r.In)
		r.lines.Buffer(nil, 8<<20)
	}
	got := make(chan read, 1)
	go func() {
		ok := r.lines.Scan()
		got <- read{strings.TrimSpace(r.lines.Text()), ok}
	}()
	select {
	case r1 := <-got:
		if !r1.ok {
			return "", false, r.lines.Err()
		}
		return r1.text, true, nil
	case <-ctx.Done():
		return "", false, context.Cause(ctx)
	}
}
