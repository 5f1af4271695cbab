package main

import (
	"testing"

	"github.com/perdure/perdure/internal/longtest"
)

// TestRetentionChangesWhatIsNamed checks that a flag of perdure retention changes only the period
// that the flag names, and that the command without a flag changes nothing.
func TestRetentionChangesWhatIsNamed(t *testing.T) {
	longtest.Skip(t, "seconds")
	dir := t.TempDir()
	launch(t, dir, "retention").wantEnd(0, "runs         forever   (the default)", "checkpoints  7d", "logs         forever")
	launch(t, dir, "retention", "--executions", "30d", "--logs", "12h").wantEnd(0, "runs         30d\n", "checkpoints  7d", "logs         12h\n")
	launch(t, dir, "retention", "--executions", "forever").wantEnd(0, "runs         forever\n", "logs         12h\n")
	launch(t, dir, "retention", "--logs", "soon").wantEnd(2, `--logs "soon" is no period`, "30d")
	launch(t, dir, "retention").wantEnd(0, "runs         forever\n", "checkpoints  7d", "logs         12h\n")
	launch(t, dir, "audit").wantEnd(0, "retention.changed")
}
