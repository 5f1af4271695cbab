package garbage

import (
	"bytes"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// givePages lets go of the pages of the program's own file that are mapped into
// this process: code, constants and tables, much of which only the start has read.
// What is touched again is mapped again, mostly from memory, as the system keeps the
// file's pages for as long as it likes. It does nothing where /proc does not tell.
func givePages() {
	extents, err := ownPages()
	if err != nil {
		return
	}
	for _, e := range extents {
		// What cannot be let go of stays.
		_, _, _ = syscall.Syscall(syscall.SYS_MADVISE, e.from, e.to-e.from, syscall.MADV_DONTNEED)
	}
}

// ownPages returns where the program's own file is mapped.
func ownPages() ([]extent, error) {
	program, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return nil, err
	}
	smaps, err := os.ReadFile("/proc/self/smaps")
	if err != nil {
		return nil, err
	}
	return unchanged(smaps, program), nil
}

// extent is a range of addresses, and how much of it is resident, in KiB.
type extent struct {
	from, to uintptr
	resident int
}

// unchanged finds in the text of /proc/PID/smaps the mappings of a file that are
// what the file is: they cannot be written, and have no page of their own, as
// addresses that were set at the start, or a debugger's breakpoint, make one. Such a
// page would be lost.
func unchanged(smaps []byte, file string) []extent {
	var all []extent
	var now extent // to is 0 if it is none
	for line := range bytes.Lines(smaps) {
		name, value, _ := strings.Cut(strings.TrimSpace(string(line)), ":")
		kib, _, _ := strings.Cut(strings.TrimSpace(value), " ")
		switch name {
		case "Rss":
			now.resident, _ = strconv.Atoi(kib)
		case "Anonymous":
			if now.to != 0 && kib == "0" {
				all = append(all, now)
			}
		default:
			if e, ok := mapping(string(line), file); ok {
				now = e
			}
		}
	}
	return all
}

// mapping reads the line that a mapping begins with: addresses, access, offset,
// device, inode, file. The extent is empty if it is of another file or can be
// written; ok is false for another line.
func mapping(line, file string) (e extent, ok bool) {
	f := strings.Fields(line)
	if len(f) < 5 {
		return e, false
	}
	low, high, ok := strings.Cut(f[0], "-")
	from, err := strconv.ParseUint(low, 16, 64)
	to, err2 := strconv.ParseUint(high, 16, 64)
	if !ok || err != nil || err2 != nil {
		return e, false
	}
	if strings.Join(f[5:], " ") != file || strings.Contains(f[1], "w") {
		return e, true
	}
	return extent{from: uintptr(from), to: uintptr(to)}, true
}
