//go:build !linux

package worker

import "golang.org/x/sys/unix"

// bootClock counts while the machine sleeps: macOS's does.
const bootClock = unix.CLOCK_MONOTONIC
