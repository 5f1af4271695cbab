package layering

import (
	"os"
	"regexp"
	"testing"
)

// TestTheModuleCanBeInstalled checks that go.mod has no exclude and replace directives, because `go
// install <module>/cmd/perdure@version` refuses a module with them.
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
