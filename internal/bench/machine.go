package bench

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/disk"
)

// Machine describes the machine on which a report was made.
type Machine struct {
	Cores    int     `json:"cores"`
	CPU      string  `json:"cpu"`
	MemoryMB int64   `json:"memoryMB"`
	Kernel   string  `json:"kernel"`
	Go       string  `json:"go"`
	Revision string  `json:"revision"`
	FlushMS  float64 `json:"flushMs"`    // median time in ms of a durable write of 4 KiB in the folder of the databases
	FlushP99 float64 `json:"flushP99Ms"` // 99th percentile of the same times
	Load     string  `json:"load"`       // load averages at the start
	Postgres string  `json:"postgres,omitempty"`
	InMemory bool    `json:"inMemory"` // whether the folder of the databases is in memory
}

// machine returns the description of this machine; folder is the folder for the databases.
func machine(folder string) (Machine, error) {
	flushes, err := flushTimes(folder)
	if err != nil {
		return Machine{}, err
	}
	m := Machine{
		InMemory: disk.InMemory(folder),
		Cores:    runtime.NumCPU(), Go: runtime.Version(), Revision: "unknown",
		FlushMS: millis(quantile(flushes, 0.5)), FlushP99: millis(quantile(flushes, 0.99)),
		Kernel: lineOf("/proc/sys/kernel/osrelease", ""), CPU: lineOf("/proc/cpuinfo", "model name"),
		Load: loadNow(),
	}
	_, _ = fmt.Sscanf(lineOf("/proc/meminfo", "MemTotal"), "%d", &m.MemoryMB) // 0 if there is no such file
	m.MemoryMB /= 1024
	if build, ok := debug.ReadBuildInfo(); ok {
		for _, s := range build.Settings {
			if s.Key == "vcs.revision" {
				m.Revision = s.Value[:min(12, len(s.Value))]
			}
		}
	}
	return m, nil
}

// loadNow returns the load averages of the machine.
func loadNow() string { return strings.Join(firstFields(lineOf("/proc/loadavg", ""), 3), " ") }

func firstFields(s string, n int) []string {
	fields := strings.Fields(s)
	return fields[:min(n, len(fields))]
}

// lineOf returns the first line of a file, or the text after the colon of the first line that
// begins with name; "" if there is no such line.
func lineOf(path, name string) string {
	raw, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(raw)) {
		if name == "" {
			return strings.TrimSpace(line)
		}
		if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// flushTimes writes pages of 4 KiB and flushes each to disk. It returns the times of the flushes in
// ascending order.
func flushTimes(folder string) ([]time.Duration, error) {
	f, err := os.CreateTemp(folder, "flush-")
	if err != nil {
		return nil, err
	}
	defer func() { _, _ = f.Close(), os.Remove(f.Name()) }()
	page := make([]byte, 4096)
	var took []time.Duration
	for i := range 200 {
		began := time.Now()
		if _, err := f.WriteAt(page, int64(i)*4096); err != nil {
			return nil, err
		}
		if err := f.Sync(); err != nil {
			return nil, err
		}
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	return took, nil
}

// postgresVersion returns the version of a PostgreSQL server.
func postgresVersion(ctx context.Context, url string) (string, error) {
	var version string
	return version, query(ctx, url, "SHOW server_version", &version)
}

// query reads one value from a PostgreSQL database.
func query(ctx context.Context, url, sql string, value any) error {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }() // the value has been read
	return conn.QueryRow(ctx, sql).Scan(value)
}

// durable returns an error if the folder is in memory and `allowed` is false.
func (m Machine) durable(allowed bool) error {
	if m.InMemory && !allowed {
		return perdure.FieldErrorf("folder", "the databases would be in memory (tmpfs), where flushes cost nothing; give a folder on a disk with --folder, or allow it with --memory")
	}
	return nil
}
