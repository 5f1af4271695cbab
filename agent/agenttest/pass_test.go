package agenttest_test

import "testing"

// TestExamplesPass checks that the tests in the examples pass.
func TestExamplesPass(t *testing.T) {
	t.Run("nurse", checkNurse)
	t.Run("transfer", checkTransfer)
	t.Run("weather", checkWeather)
}
