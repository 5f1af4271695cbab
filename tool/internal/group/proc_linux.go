package group

import (
	"os"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// proc is a row of the process table. The field `start` is in clock ticks since boot. No two
// processes of one boot have the same pid and start.
type proc struct {
	pid, parent, group, session int
	start                       uint64
	zombie                      bool
}

// readProc reads /proc/<pid>/stat. The result ok is false if the process does not exist.
func readProc(pid int) (p proc, ok bool) {
	raw, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return proc{}, false
	}
	// The name of the program is in parentheses and may itself contain parentheses.
	text := string(raw)
	fields := strings.Fields(text[strings.LastIndexByte(text, ')')+1:])
	if len(fields) < 20 {
		return proc{}, false
	}
	p.pid = pid
	p.zombie = fields[0] == "Z" || fields[0] == "X"
	p.parent, _ = strconv.Atoi(fields[1])
	p.group, _ = strconv.Atoi(fields[2])
	p.session, _ = strconv.Atoi(fields[3])
	p.start, err = strconv.ParseUint(fields[19], 10, 64)
	return p, err == nil
}

func allProcs() []proc {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil
	}
	var procs []proc
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			if p, ok := readProc(pid); ok {
				procs = append(procs, p)
			}
		}
	}
	return procs
}

// signalProc sends a signal to the process p, unless p has ended or its pid now belongs to another process.
func signalProc(p proc, sig syscall.Signal) {
	fd, err := unix.PidfdOpen(p.pid, 0)
	if err != nil {
		return
	}
	defer unix.Close(fd)
	if now, ok := readProc(p.pid); ok && now.start == p.start {
		_ = unix.PidfdSendSignal(fd, sig, nil, 0)
	}
}

// bootID returns an id of the current boot. Pids and start times begin again at each boot, so only together
// with this id they are unique.
func bootID() string {
	raw, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(raw))
}
