// Package longtest decides which tests run, and with how many cases.
//
// The command make check skips tests that need much time or a service: it runs go test with -short.
// The command make test runs all tests, some of them with a sample of their cases. The command make
// test-long sets PERDURE_TEST=long, so that tests run all their cases.
package longtest

import "testing"

// Skip skips a test under -short. `needs` names what the test needs and make check does not have:
// seconds of a processor, a PostgreSQL server, a browser.
func Skip(t testing.TB, needs string) {
	t.Helper()
	if testing.Short() {
		t.Skipf("not under -short: it needs %s", needs)
	}
}
