package worker

import "golang.org/x/sys/unix"

// bootClock counts while the machine sleeps.
const bootClock = unix.CLOCK_BOOTTIME
