// Package filelock takes file locks whose last owner may have died a moment ago.
//
// A process that starts a child shares its locked files with the child from fork to exec. If the
// process dies in between, the child has the locks until the child calls exec, some milliseconds
// later.
package filelock

import "time"

const (
	// patience is how long Take repeats failed attempts.
	patience = time.Second
	// pause is the time between two attempts.
	pause = 10 * time.Millisecond
)

// Take attempts to take a lock until it succeeds. The function `try` makes one attempt without
// waiting. For an error of `try`, the function `held` reports whether the lock has an owner that
// may soon release it. Take returns an error if `held` returns false, or after a second.
func Take(try func() error, held func(error) bool) error {
	deadline := time.Now().Add(patience)
	for {
		err := try()
		if err == nil || !held(err) || !time.Now().Before(deadline) {
			return err
		}
		time.Sleep(pause)
	}
}
