package runs

import (
	"testing"

	"github.com/perdure/perdure"
)

// TestStatusNamesFeatures checks that the status of a run says which features it waits for, and only
// while it is PENDING.
func TestStatusNamesFeatures(t *testing.T) {
	for want, x := range map[string]perdure.Execution{
		"pending": {Status: perdure.StatusPending},
		"pending (needs a worker with context/1)": {Status: perdure.StatusPending, NeedsFeatures: perdure.FeatureContext},
		"running": {Status: perdure.StatusRunning, NeedsFeatures: perdure.FeatureContext},
	} {
		if got := statusText(&x); got != want {
			t.Errorf("the status is %q, want %q", got, want)
		}
	}
}
