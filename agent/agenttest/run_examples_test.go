package agenttest_test

import (
	"testing"

	"github.com/perdure/perdure/internal/longtest"
)

// TestExamplesPass checks that the tests in the examples pass.
func TestExamplesPass(t *testing.T) {
	longtest.Skip(t, "seconds")
	t.Run("nurse", checkNurse)
	t.Run("transfer", checkTransfer)
	t.Run("weather", checkWeather)
}
