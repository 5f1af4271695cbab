package terminal

import (
	"strings"
	"testing"

	"github.com/perdure/perdure"
)

func TestSummarise(t *testing.T) {
	for raw, want := range map[string]string{
		`{"command":"go test ./...\ngo vet"}`: "go test ./... ⏎ go vet",
		`{"pattern":"x y","path":"src"}`:      "x y src",
		`{"path":"a.go","oldString":"x"}`:     "a.go",
		`{"odd":1}`:                           `{"odd":1}`,
		`{}`:                                  "",
		`not json`:                            "not json",
		`{"command":"` + strings.Repeat("é", 200) + `"}`: strings.Repeat("é", maxTitle-1) + "…",
	} {
		if got := summarise(perdure.Part{RawArguments: raw}); got != want {
			t.Errorf("%s: %q, want %q", raw, got, want)
		}
	}
}

// TestResultsAreCutAsTheViewSays checks how much of a result is shown if no output was shown while
// the tool ran. The view shows every line, or the first lines and the number of the other lines. It
// also prints a command that shows the other lines, if the limit has such a command.
func TestResultsAreCutAsTheViewSays(t *testing.T) {
	lines := strings.Split(strings.TrimSpace(strings.Repeat("x\n", maxResultLines+2)), "\n")
	for end, limit := range map[string]ResultLimit{
		"  │ x\n  │ … 2 more lines\n":                         {},
		"  │ x\n  │ … 2 more lines:  perdure show 1 | less\n": {Remedy: "perdure show 1 | less"},
		strings.Repeat("  │ x\n", maxResultLines+2):           {All: true, Remedy: "unused"},
	} {
		var out strings.Builder
		v := NewTextView(Streams{Stdout: NewScreen(&out)}, "")
		v.Results = limit
		v.tools.body(lines, false)
		if got := out.String(); !strings.HasSuffix(got, end) || strings.Contains(got, "more") == limit.All {
			t.Errorf("%+v gives\n%s", limit, got)
		}
	}
}
