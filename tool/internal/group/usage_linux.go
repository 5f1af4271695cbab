package group

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// machineMemory returns the memory of the machine, or the memory limit of this process's control group if
// that is less. It returns 0 if the memory of the machine is unknown.
func machineMemory() int64 {
	var info unix.Sysinfo_t
	if unix.Sysinfo(&info) != nil {
		return 0
	}
	most := int64(info.Totalram) * int64(info.Unit)
	for _, file := range memoryLimitFiles() {
		raw, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		if n, err := strconv.ParseInt(strings.TrimSpace(string(raw)), 10, 64); err == nil && n > 0 {
			most = min(most, n)
		}
	}
	return most
}

// memoryLimitFiles returns the files that limit the memory of this process's control group and of
// the groups above it. Some of them may not exist.
func memoryLimitFiles() []string {
	files := []string{"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"}
	here, err := ownCgroup()
	if err != nil {
		return files
	}
	for path := here.path; path != "/" && path != "."; path = filepath.Dir(path) {
		files = append(files, filepath.Join(here.dir, "memory.max"))
		here.dir = filepath.Dir(here.dir)
	}
	return files
}

// usage returns the total usage of the members. It first adds up the private memory of each process, in
// which pages that processes share after a fork count several times. If that sum exceeds the limit, usage
// reads the proportional share of each process, which takes longer.
func (g *Group) usage(l Limits) usage {
	members := g.members()
	u := usage{processes: int64(len(members))}
	for _, p := range members {
		u.memory += privateMemory(p.pid)
	}
	if l.Memory <= 0 || u.memory <= l.Memory {
		return u
	}
	u.memory = 0
	for _, p := range members {
		u.memory += proportionalMemory(p.pid)
	}
	return u
}

// privateMemory returns the size, in bytes, of a process's resident memory without the pages that
// are backed by a file; see proc_pid_statm(5).
func privateMemory(pid int) int64 {
	raw, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/statm")
	if err != nil {
		return 0
	}
	f := strings.Fields(string(raw))
	if len(f) < 3 {
		return 0
	}
	resident, _ := strconv.ParseInt(f[1], 10, 64)
	shared, _ := strconv.ParseInt(f[2], 10, 64)
	return max(0, resident-shared) * int64(os.Getpagesize())
}

// proportionalMemory returns the memory of a process in bytes, where a shared page is divided among
// the processes that share it. If the kernel does not report this number, it returns privateMemory.
func proportionalMemory(pid int) int64 {
	raw, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/smaps_rollup")
	if err != nil {
		return privateMemory(pid)
	}
	for line := range bytes.Lines(raw) {
		rest, found := bytes.CutPrefix(line, []byte("Pss_Anon:"))
		if !found {
			continue
		}
		if kib, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(string(rest)), " kB"), 10, 64); err == nil {
			return kib << 10
		}
	}
	return privateMemory(pid)
}
