package garbage

import "testing"

// Memory is given back once the process rests, not while it works, and not again
// until it has worked.
func TestMemoryIsGivenBackAtRest(t *testing.T) {
	const mib = 1 << 20
	var r resting
	all := uint64(0)
	for i, step := range []struct {
		allocates uint64
		want      bool
	}{
		{7 * mib, false}, // it has not done much yet
		{100 * mib, false},
		{90 * mib, false},
		{1 * mib, true},
		{1 * mib, false},
		{0, false},
		{200 * mib, false},
		{31 * mib, true},
		{3 * mib, false},
		{3 * mib, false},
		{3 * mib, true}, // a little, for long
	} {
		all += step.allocates
		if got := r.look(all); got != step.want {
			t.Errorf("look %d gives back: %t, want %t", i, got, step.want)
		}
	}
}

func TestAllocationsAreCounted(t *testing.T) {
	before := allocated()
	kept = make([]byte, 8<<20)
	if got := allocated() - before; got < 8<<20 {
		t.Errorf("8 MiB count as %d bytes", got)
	}
}

// kept keeps an allocation from being left out.
var kept []byte
