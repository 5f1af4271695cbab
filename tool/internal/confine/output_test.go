package confine

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/tool/internal/excerpt"
)

// TestPipeIsDrainedAtTheDeadline checks that pump, after its deadline, still reads what the pipe
// contains, although a process that has left the command's group holds the pipe open.
func TestPipeIsDrainedAtTheDeadline(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	text := strings.Repeat("x", 50_000) + "the end"
	if _, err := w.WriteString(text); err != nil {
		t.Fatal(err)
	}
	if err := r.SetReadDeadline(time.Now().Add(-time.Second)); err != nil {
		t.Fatal(err)
	}
	tr := excerpt.NewTranscript(100_000)
	pump(tr.Stream(nil), r)
	if got := tr.String(); got != text {
		t.Errorf("%d bytes came, want %d", len(got), len(text))
	}
}
