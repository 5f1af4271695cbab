package bench

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/pprof"
	"strings"
)

// profile starts CPU profiles of the server, and of a worker in another process, if Profiles is
// set. The caller must call the returned function to stop the profiles.
func (b *bench) profile(s *deployment) (end func() error, err error) {
	if b.Profiles == "" {
		return func() error { return nil }, nil
	}
	if s.worker == s.server {
		return func() error { return s.server.ask("profile", "", nil) }, s.server.ask("profile", b.profilePath("cpu"), nil)
	}
	end = func() error { return errors.Join(s.server.ask("profile", "", nil), s.worker.ask("profile", "", nil)) }
	return end, errors.Join(s.server.ask("profile", b.profilePath("cpu"), nil), s.worker.ask("profile", b.profilePath("worker.cpu"), nil))
}

// heap writes a profile of the server's memory if Profiles is set.
func (b *bench) heap(s *deployment) error {
	if b.Profiles == "" {
		return nil
	}
	return s.server.ask("heap", b.profilePath("heap"), nil)
}

// profilePath returns the path of a profile of the kind.
func (b *bench) profilePath(kind string) string {
	store, _, _ := strings.Cut(b.store, ":")
	return filepath.Join(b.Profiles, fmt.Sprintf("%s-%s-%s.%s", b.workload.Name, store, b.worker, kind))
}

// processVerbs returns the handlers for requests about a child's process: resource usage,
// scheduling and profiles.
func processVerbs() map[string]handler {
	var p cpuProfile
	return map[string]handler{
		"used":      on(func(collect bool) (any, error) { return readUsage(collect), nil }),
		"scheduled": on(func(struct{}) (any, error) { return readSchedulerStats(), nil }),
		"profile":   on(func(path string) (any, error) { return nil, p.to(path) }),
		"heap":      on(func(path string) (any, error) { return nil, heapTo(path) }),
	}
}

// cpuProfile is the CPU profile of this process.
type cpuProfile struct{ file *os.File }

// to starts a CPU profile that is written to a file, or stops the running profile if the path is "".
func (p *cpuProfile) to(path string) (err error) {
	if path == "" {
		pprof.StopCPUProfile()
		return p.file.Close()
	}
	if p.file, err = os.Create(path); err != nil {
		return err
	}
	return pprof.StartCPUProfile(p.file)
}

func heapTo(path string) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	return errors.Join(pprof.WriteHeapProfile(f), f.Close())
}
