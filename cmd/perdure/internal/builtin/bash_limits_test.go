package builtin

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// TestFlagsThatLimitBashAreChecked checks that CheckWorkspace returns an error for invalid values
// of flags that limit bash.
func TestFlagsThatLimitBashAreChecked(t *testing.T) {
	for _, args := range [][]string{
		{"--confine", "maybe"}, {"--net", "lan"}, {"--sockets", "all"}, {"--bash-files", "2"}, {"--bash-memory", "1"}, {"--bash-processes", "1"},
	} {
		var s Worker
		cmd := &cobra.Command{Use: "x"}
		s.Flags(cmd)
		if err := cmd.ParseFlags(args); err != nil {
			t.Fatal(err)
		}
		s.Workspace = t.TempDir()
		if err := s.CheckWorkspace(); err == nil || !strings.Contains(err.Error(), args[0]) {
			t.Errorf("%v: err = %v", args, err)
		}
	}
}
