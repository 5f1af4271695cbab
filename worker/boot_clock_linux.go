package worker

import "golang.org/x/sys/unix"

// bootClock is the clock that continues while the machine sleeps.
const bootClock = unix.CLOCK_BOOTTIME
