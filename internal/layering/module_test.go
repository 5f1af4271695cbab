package layering

import (
	"os"
	"regexp"
	"testing"
)

// `go install <module>/cmd/perdure@version` refuses a module whose go.mod has a different meaning
// when it is not the main module.
func TestTheModuleCanBeInstalled(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("../../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	if found := regexp.MustCompile(`(?m)^(exclude|replace)\b.*$`).Find(raw); found != nil {
		t.Errorf("go.mod has %q", found)
	}
}
