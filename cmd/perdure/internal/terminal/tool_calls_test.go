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
