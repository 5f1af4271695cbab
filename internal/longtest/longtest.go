// Package longtest selects tests and their cases for the three commands that run tests.
//
// The command make check runs go test with -short, which skips some tests. The command make test
// runs all tests, some of them on a sample of their cases. The command make test-long sets
// PERDURE_TEST=long, so that tests run all their cases.
package longtest

import "testing"

// Skip skips a test under -short. The parameter needs names the resource that the test needs and
// make check lacks: seconds of a processor, a PostgreSQL server, a browser.
func Skip(t testing.TB, needs string) {
	t.Helper()
	if testing.Short() {
		t.Skipf("not under -short: it needs %s", needs)
	}
}
