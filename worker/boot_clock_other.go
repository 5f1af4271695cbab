//go:build !linux

package worker

import "golang.org/x/sys/unix"

// bootClock is the id of a monotonic clock. On macOS, this clock also runs while the machine is suspended.
const bootClock = unix.CLOCK_MONOTONIC
