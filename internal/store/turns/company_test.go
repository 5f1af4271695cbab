package turns

import "testing"

func TestCompany(t *testing.T) {
	var c Company
	want := func(now int64, present bool) {
		t.Helper()
		if c.Present(now) != present {
			t.Errorf("at %d company is %v", now, !present)
		}
	}
	want(0, false)
	c.Asks("a", 1)
	c.Asks("", 2)
	want(2, false)
	c.Asks("b", 3)
	want(3, true)
	want(1+lately, false) // the org "a" has not asked for that long
	for at := range int64(lately) {
		c.Asks("b", 3+at)
	}
	want(3+lately, false)
	c.Asks("a", 3+lately)
	want(3+lately, true)
}
