package longtest

import (
	"flag"
	"fmt"
	"testing"

	_ "pgregory.net/rapid" // the flag rapid.checks
)

// chosen returns how many of 1000 names are in a sample of about one in n names.
func chosen(t *testing.T, n int) int {
	t.Helper()
	in, count := Sample(t, n), 0
	for i := range 1000 {
		if in(fmt.Sprint("name ", i)) {
			count++
		}
	}
	return count
}

// TestStridesCoverAllNumbers checks that the first number of a sample is at most its step, and
// always the same for one seed. In the long form of tests, the sample must have all numbers.
func TestStridesCoverAllNumbers(t *testing.T) {
	t.Setenv("PERDURE_TEST", "")
	first, step := Stride(t, 4)
	if first < 1 || first > 4 || step != 4 {
		t.Errorf("the sample begins at %d with step %d", first, step)
	}
	if again, _ := Stride(t, 4); again != first {
		t.Errorf("one seed begins at %d and then at %d", first, again)
	}
	t.Setenv("PERDURE_TEST", "long")
	if first, step := Stride(t, 4); first != 1 || step != 1 {
		t.Errorf("the long form begins at %d with step %d", first, step)
	}
}

func TestSampleIsAPart(t *testing.T) {
	t.Setenv("PERDURE_TEST", "")
	if got := chosen(t, 4); got < 150 || got > 350 {
		t.Errorf("a sample of one in 4 chooses %d of 1000", got)
	}
	if a, b := chosen(t, 4), chosen(t, 4); a != b {
		t.Errorf("one seed chooses %d and then %d", a, b)
	}
}

func TestTheLongFormIsAll(t *testing.T) {
	t.Setenv("PERDURE_TEST", "long")
	if got := chosen(t, 4); got != 1000 {
		t.Errorf("the long form chooses %d of 1000", got)
	}
}

func TestChecksHoldForTheTest(t *testing.T) {
	checks := flag.Lookup("rapid.checks").Value
	before := checks.String()
	for form, want := range map[string]string{"": "7", "long": "70"} {
		t.Run("form "+form, func(t *testing.T) {
			t.Setenv("PERDURE_TEST", form)
			Checks(t, 7, 70)
			if got := checks.String(); got != want {
				t.Errorf("%s checks, want %s", got, want)
			}
		})
		if got := checks.String(); got != before {
			t.Errorf("%s checks after the test, want %s", got, before)
		}
	}
}
