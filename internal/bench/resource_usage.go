package bench

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// resourceUsage is the resource usage of a process.
type resourceUsage struct {
	CPU                  time.Duration // user and system time
	Heap, Stacks, Others uint64        // bytes in use, after a collection if there was one
	Goroutines           int
	RSS, PeakRSS         int64 // bytes resident in memory
	Written              int64 // bytes written to the disk
	Moved                int64 // bytes of all reads and writes, including sockets
}

// readUsage returns the resource usage of this process. If collect is set, it first runs several
// garbage collections, because each collection shrinks a stack only by half.
func readUsage(collect bool) resourceUsage {
	if collect {
		for range 4 {
			runtime.GC()
		}
		debug.FreeOSMemory()
	}
	var r syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &r)
	samples := []metrics.Sample{
		{Name: "/memory/classes/heap/objects:bytes"},
		{Name: "/memory/classes/heap/stacks:bytes"},
		{Name: "/memory/classes/os-stacks:bytes"},
		{Name: "/memory/classes/heap/unused:bytes"},
		{Name: "/memory/classes/metadata/mspan/inuse:bytes"},
		{Name: "/memory/classes/metadata/other:bytes"},
	}
	metrics.Read(samples)
	at := func(i int) uint64 { return samples[i].Value.Uint64() }
	return resourceUsage{
		CPU:  time.Duration(r.Utime.Nano() + r.Stime.Nano()),
		Heap: at(0), Stacks: at(1) + at(2), Others: at(3) + at(4) + at(5), Goroutines: runtime.NumGoroutine(),
		RSS: kilobytes("VmRSS"), PeakRSS: kilobytes("VmHWM"),
		Written: count("write_bytes"), Moved: count("rchar") + count("wchar"),
	}
}

func kilobytes(name string) int64 {
	n, _ := strconv.ParseInt(strings.TrimSuffix(lineOf("/proc/self/status", name), " kB"), 10, 64) // 0 if there is no such file
	return n << 10
}

func count(name string) int64 {
	n, _ := strconv.ParseInt(lineOf("/proc/self/io", name), 10, 64)
	return n
}

// family returns the CPU time of a process and its direct children, including ended children. For pid
// 0 it returns 0.
func family(pid int) time.Duration {
	if pid == 0 {
		return 0
	}
	all, _ := filepath.Glob("/proc/[0-9]*/stat") // the pattern is valid
	var ticks int64
	for _, path := range all {
		raw, err := os.ReadFile(path)
		if err != nil {
			continue // the process has ended
		}
		_, rest, _ := strings.Cut(string(raw), ") ")
		f := strings.Fields(rest) // fields from the third one on
		if len(f) < 15 {
			continue
		}
		self := path == fmt.Sprintf("/proc/%d/stat", pid)
		for i, field := range f[11:15] { // utime and stime, and those of ended children
			if n, err := strconv.ParseInt(field, 10, 64); err == nil && (self || i < 2 && f[1] == strconv.Itoa(pid)) {
				ticks += n
			}
		}
	}
	const tick = 10 * time.Millisecond
	return time.Duration(ticks) * tick
}

// moreFiles raises this process's limit of open files to the maximum.
func moreFiles() error {
	var l syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l); err != nil {
		return err
	}
	l.Cur = l.Max
	return syscall.Setrlimit(syscall.RLIMIT_NOFILE, &l)
}

// files returns the maximum number of open files of a process.
func files() int {
	var l syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l) != nil {
		return 1024
	}
	return int(l.Max)
}
