package agenttest

import (
	"fmt"
	"testing"

	"github.com/perdure/perdure/internal/longtest"
)

// AllOfSample runs the checks of All, but causes faults at only about one in four of the writes. In
// the long form of the tests (PERDURE_TEST=long) it causes faults at all writes, like All.
func AllOfSample(t *testing.T, s Scenario) {
	t.Helper()
	chosen := longtest.Sample(t, 4)
	s.omit = func(at int, f fate) bool { return !chosen(fmt.Sprint(t.Name(), " ", at, " ", f)) }
	All(t, s)
}
