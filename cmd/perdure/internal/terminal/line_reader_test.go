package terminal_test

import (
	"context"
	"io"
	"testing"

	"github.com/perdure/perdure/cmd/perdure/internal/terminal"
)

// TestLineReaderKeepsTheLineOfAnEndedRead checks that a line that comes after the context of a read
// has ended is returned by the next read.
func TestLineReaderKeepsTheLineOfAnEndedRead(t *testing.T) {
	in, out := io.Pipe()
	r := terminal.LineReader{In: in}
	ended, end := context.WithCancel(t.Context())
	end()
	if text, ok, err := r.Read(ended); ok || err == nil {
		t.Fatalf("without a line it returns %q, %v, %v", text, ok, err)
	}
	go func() {
		_, _ = io.WriteString(out, "one\ntwo\n")
		_ = out.Close()
	}()
	for _, want := range []string{"one", "two"} {
		if text, ok, err := r.Read(t.Context()); text != want || !ok || err != nil {
			t.Errorf("the line is %q, %v, %v, want %s", text, ok, err, want)
		}
	}
	if text, ok, err := r.Read(t.Context()); ok || err != nil {
		t.Errorf("at the end it returns %q, %v, %v", text, ok, err)
	}
}
