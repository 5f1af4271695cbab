package lookup

import (
	"testing"

	"github.com/perdure/perdure"
)

// TestStatusesHaveTheirExitCodes checks that a failed run ends the command with exit code 1, and
// each other status has its own code.
func TestStatusesHaveTheirExitCodes(t *testing.T) {
	for status, want := range map[perdure.Status]int{
		perdure.StatusCompleted: 0, perdure.StatusFailed: 1, perdure.StatusCancelled: 3, perdure.StatusWaiting: 4,
	} {
		if got := exitCodeOf(&perdure.Execution{Status: status}); got != want {
			t.Errorf("%s is %d, want %d", status, got, want)
		}
	}
}
