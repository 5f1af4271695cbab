package scripted_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/perdure/perdure/llm"
	"github.com/perdure/perdure/llm/llmtest"
	"github.com/perdure/perdure/llm/scripted"
)

func TestConformance(t *testing.T) {
	llmtest.Run(t, llmtest.Case{Model: "test.script", Unsigned: true, NoReasoningCount: true, New: func(t *testing.T, answers ...llmtest.Answer) llm.Provider {
		var turns []string
		for _, a := range answers {
			turns = append(turns, "turn\n"+words(a))
		}
		return write(t, strings.Join(turns, ""))
	}})
}

// write returns a provider whose directory has a file test.script with the given text.
func write(t *testing.T, text string) *scripted.Provider {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "test.script"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return scripted.New(scripted.Config{Dir: dir})
}

func words(a llmtest.Answer) string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	if a.Thinking != "" {
		line("thinking %s", a.Thinking)
	}
	if text := strings.Join(a.Text, ""); text != "" {
		line("text <<END\n%s\nEND", text)
	}
	for _, c := range a.Calls {
		line("call %s <<END\n%s\nEND", c.Name, c.Arguments)
	}
	switch {
	case a.Cut, a.Break:
		line("fail network")
	case len(a.Text)+len(a.Calls) == 0:
		line("fail empty_answer")
	case a.HangAfter:
		line("pause 1h")
	}
	if a.Stop != "" {
		line("stop %s", a.Stop)
	}
	u := a.Usage
	line("usage in=%d out=%d cacheRead=%d cacheWrite=%d", u.Input, u.Output, u.CacheRead, u.CacheWrite)
	return b.String()
}
