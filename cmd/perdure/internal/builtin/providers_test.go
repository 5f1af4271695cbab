package builtin

import (
	"log/slog"
	"strings"
	"testing"
)

// TestAWorkerWarnsOfPlainKeys checks that a worker warns only once of a key that is an ordinary
// word, and that the warning does not contain the key.
func TestAWorkerWarnsOfPlainKeys(t *testing.T) {
	for _, name := range []string{"ANTHROPIC_API_KEY", "GEMINI_API_KEY"} {
		t.Setenv(name, "")
	}
	for key, warned := range map[string]bool{"": false, "changeme": true, "none": true, "sk-Q7x9Zk3vB2nM8pL4": false} {
		t.Setenv("OPENAI_API_KEY", key)
		var out strings.Builder
		s := &Worker{Logger: slog.New(slog.NewTextHandler(&out, nil))}
		if err := s.warnOfPlainKeys(); err != nil {
			t.Fatal(err)
		}
		if got := strings.Count(out.String(), "OPENAI_API_KEY"); (got == 1) != warned || got > 1 || key != "" && strings.Contains(out.String(), key) {
			t.Errorf("with the key %q it says %q", key, out.String())
		}
	}
}
