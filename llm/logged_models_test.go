package llm_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/perdure/perdure/llm"
)

// TestModelsWithoutAWindowAreLoggedWithinABound checks that a model with an unknown context window
// is logged once, and that the number of logged models is limited.
func TestModelsWithoutAWindowAreLoggedWithinABound(t *testing.T) {
	var written bytes.Buffer
	ps := llm.NewProviders()
	ps.SetLogger(slog.New(slog.NewTextHandler(&written, nil)))
	var asking sync.WaitGroup
	for range 4 {
		asking.Go(func() {
			for i := range 3000 {
				if l, known := ps.Limits("acme", fmt.Sprintf("m-%d", i)); known || l.Window != llm.UnknownWindow {
					t.Errorf("m-%d has %+v, %v", i, l, known)
				}
			}
		})
	}
	asking.Wait()
	lines := strings.Split(strings.TrimSpace(written.String()), "\n")
	models := map[string]bool{}
	for _, line := range lines {
		if _, rest, found := strings.Cut(line, "model=acme/"); found {
			id, _, _ := strings.Cut(rest, " ")
			if models[id] {
				t.Fatalf("%s is logged twice", id)
			}
			models[id] = true
		}
	}
	if len(models) != 1000 || len(lines) != 1001 {
		t.Errorf("%d models are logged in %d lines; want 1,000, and one line that says that no more follow", len(models), len(lines))
	}
}

// TestALongModelIDIsCutInTheLog checks that a long model id does not make a line of the log long.
func TestALongModelIDIsCutInTheLog(t *testing.T) {
	var written bytes.Buffer
	ps := llm.NewProviders()
	ps.SetLogger(slog.New(slog.NewTextHandler(&written, nil)))
	ps.Limits("acme", strings.Repeat("é", 1<<20))
	if n := written.Len(); n == 0 || n > 600 {
		t.Errorf("the log has %d bytes", n)
	}
}
