// Package filelock takes file locks whose last owner may have died a moment ago.
//
// A process that starts a child shares its locked files with the child from fork to exec. If it dies
// in between, the child holds the locks until it calls exec, which takes milliseconds.
package filelock

import "time"

const (
	// patience is the time for which Take repeats an attempt.
	patience = time.Second
	// pause is the time between two attempts.
	pause = 10 * time.Millisecond
)

// Take calls try, which takes a lock without waiting, until it succeeds. It returns the error of the
// last attempt when held no longer accepts it, or after a second. held reports whether an error
// means that the lock has an owner that may be about to release it.
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
