package garbage

import (
	"runtime/debug"
	"testing"
)

// TestOnlySmallProcessesLeaveMoreBehind checks that GOGC is over 100 only if the live heap is
// smaller than headroom, and that the garbage of such a process is at most headroom.
func TestOnlySmallProcessesLeaveMoreBehind(t *testing.T) {
	for live, want := range map[uint64]int{0: 400, 1 << 20: 400, 8 << 20: 400, 16 << 20: 400, 32 << 20: 200, 64 << 20: 100, 1 << 30: 100} {
		if got := percentFor(live); got != want {
			t.Errorf("for %d live bytes: %d %%, want %d", live, got, want)
		}
		if over := uint64(percentFor(live)) * live / 100; live < 64<<20 && over > headroom {
			t.Errorf("for %d live bytes: %d bytes of garbage", live, over)
		}
	}
}

// TestTheEnvironmentDecides checks that Ease does not change GOGC if GOGC or GOMEMLIMIT is set, and
// changes it otherwise.
func TestTheEnvironmentDecides(t *testing.T) {
	t.Setenv("GOGC", "")
	t.Setenv("GOMEMLIMIT", "")
	defer debug.SetGCPercent(debug.SetGCPercent(77))
	for _, name := range []string{"GOGC", "GOMEMLIMIT"} {
		t.Run(name, func(t *testing.T) {
			t.Setenv(name, "90")
			Ease(t.Context())
			if got := debug.SetGCPercent(77); got != 77 {
				t.Errorf("it set %d %%", got)
			}
		})
	}
	Ease(t.Context())
	if got := debug.SetGCPercent(77); got == 77 {
		t.Error("without them, it set nothing")
	}
}
