package longtest

import (
	"flag"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"testing"
)

// All reports whether tests run in their long form, as in make test-long: PERDURE_TEST is "long".
func All() bool { return os.Getenv("PERDURE_TEST") == "long" }

// Sample returns a function that reports whether a name is in a sample of about one in n names. The
// sample depends only on the names and on the seed, which Sample logs so that a run can be
// repeated. In the long form of tests (see All), the sample contains all names.
func Sample(t testing.TB, n int) func(name string) bool {
	t.Helper()
	if All() {
		return func(string) bool { return true }
	}
	chosen := Seed(t)
	return func(name string) bool {
		h := fnv.New64a()
		h.Write([]byte(name))
		return rand.New(rand.NewPCG(chosen, h.Sum64())).IntN(n) == 0
	}
}

// Seed returns the value of PERDURE_TEST_SEED. If it is not set, Seed returns a random seed, the
// same for all tests of the binary. Seed logs the seed.
func Seed(t testing.TB) uint64 {
	t.Helper()
	chosen, err := seed()
	if err != nil {
		t.Fatalf("PERDURE_TEST_SEED: %v", err)
	}
	t.Logf("PERDURE_TEST_SEED=%d", chosen)
	return chosen
}

var seed = sync.OnceValues(func() (uint64, error) {
	if text := os.Getenv("PERDURE_TEST_SEED"); text != "" {
		return strconv.ParseUint(text, 10, 64)
	}
	return rand.Uint64(), nil
})

// Stride describes a sample of the numbers 1, 2, 3, and so on: its first number, and the step from
// each of its numbers to the next. Normally the step is n, and the seed (see Seed) determines the
// first number, which is at most n. In the long form of tests (see All), both are 1, so the sample
// contains all numbers.
func Stride(t testing.TB, n int) (first, step int) {
	t.Helper()
	if All() {
		return 1, 1
	}
	return 1 + rand.New(rand.NewPCG(Seed(t), 0)).IntN(n), n
}

// Checks sets how many random cases package rapid tries during a test and its parallel subtests:
// `few`, or `many` in the long form of tests (see All). A number on the command line has priority.
func Checks(t testing.TB, few, many int) {
	t.Helper()
	checks := flag.Lookup("rapid.checks")
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == checks.Name })
	if given {
		return
	}
	n := few
	if All() {
		n = many
	}
	before := checks.Value.String()
	set := func(value string) {
		if err := checks.Value.Set(value); err != nil { // flag.Set would mark it as given
			t.Fatal(err)
		}
	}
	set(strconv.Itoa(n))
	t.Cleanup(func() { set(before) })
}
