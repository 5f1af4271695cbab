package worker

import "golang.org/x/sys/unix"

// bootClock is the id of a clock that also runs while the machine sleeps.
const bootClock = unix.CLOCK_BOOTTIME
