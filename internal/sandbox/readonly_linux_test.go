package sandbox

import "testing"

// TestWhatMountsAreWritten checks that the innermost path of the policy that contains a mount
// decides whether the mount is writable.
func TestWhatMountsAreWritten(t *testing.T) {
	p := Policy{
		Dir: "/home/me/ws", Write: []string{"/home/me/ws"}, Kept: []string{"/home/me"}, Fixed: []string{"/home/me/ws/.git/config"},
		Private: []Private{{Path: "/home"}, {Path: "/tmp"}}, Caches: []CacheFolder{{Path: "/home/me/.cache"}},
	}
	for point, want := range map[string]bool{
		"/": false, "/home": true, "/home/me": false, "/home/me/ws": true, "/home/me/ws/mounted": true, "/home/me/other": false,
		"/home/me/.cache": true, "/home/me/.cachet": false, "/tmp": true, "/usr": false, "/proc": false, "/home/me/ws/.git/config": false,
	} {
		if p.writes(point) != want {
			t.Errorf("%s: %v", point, !want)
		}
	}
}
