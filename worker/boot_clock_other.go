//go:build !linux

package worker

import "golang.org/x/sys/unix"

// bootClock is the clock that continues while the machine sleeps, as on macOS.
const bootClock = unix.CLOCK_MONOTONIC
