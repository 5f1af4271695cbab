package worker

import "golang.org/x/sys/unix"

// bootClock is the id of a clock that also runs while the machine is suspended.
const bootClock = unix.CLOCK_BOOTTIME
