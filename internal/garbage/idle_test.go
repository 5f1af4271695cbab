package garbage

import "testing"

// TestMemoryIsGivenBackAtRest checks that memory is released when the process is idle. It is
// released a second time only if the process has allocated releaseBytes bytes in between.
func TestMemoryIsGivenBackAtRest(t *testing.T) {
	const mib = 1 << 20
	var d idleDetector
	all := uint64(0)
	for i, step := range []struct {
		allocates uint64
		want      bool
	}{
		{7 * mib, false}, // too little yet
		{100 * mib, false},
		{90 * mib, false},
		{1 * mib, true},
		{1 * mib, false},
		{0, false},
		{200 * mib, false},
		{31 * mib, true},
		{3 * mib, false},
		{3 * mib, false},
		{3 * mib, true}, // small amounts, but enough in total
	} {
		all += step.allocates
		if got := d.release(all); got != step.want {
			t.Errorf("measurement %d releases: %t, want %t", i, got, step.want)
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

// kept prevents the compiler from removing the allocation.
var kept []byte
