//go:build !linux

package worker

import "golang.org/x/sys/unix"

// bootClock is the id of a monotonic clock. On macOS it also runs while the machine sleeps.
const bootClock = unix.CLOCK_MONOTONIC
