package agenttest

import (
	"fmt"
	"testing"

	"github.com/perdure/perdure/internal/longtest"
)

// AllOfSample is All with faults at a sample of the writes, about one in four. In the long form of the
// tests (PERDURE_TEST=long) it is All.
func AllOfSample(t *testing.T, s Scenario) {
	t.Helper()
	chosen := longtest.Sample(t, 4)
	s.omit = func(at int, f fate) bool { return !chosen(fmt.Sprint(t.Name(), " ", at, " ", f)) }
	All(t, s)
}
