package tool

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"time"
)

const (
	// scratchPrefix is the name prefix of the folders that contain temporary folders.
	scratchPrefix = "perdure-scratch-"
	// scratchIdle is how long the folders of a run without commands are kept.
	scratchIdle = 24 * time.Hour
)

// Scratch keeps the temporary folders of runs, which commands see as /tmp, /var/tmp, /run and
// /dev/shm. The folders of a run are removed by Drop, by Close, or 24 hours after the run's last
// command. Scratch is safe for concurrent use.
type Scratch struct {
	dir  string
	lock *os.File
	now  func() time.Time

	mu   sync.Mutex
	runs map[string]*scratchRun
}

// scratchRun holds the folders of one run.
type scratchRun struct {
	dir   string
	users int
	used  time.Time
	slots []bool   // slots in use by a command
	told  []string // values of boundBy for which the run has an event
}

// scratchFolders are the folders of a run that one command uses. Concurrent commands share dir, but
// each has its own slot. Both folders exist as long as the run.
type scratchFolders struct {
	dir, slot string
	release   func()
}

// OpenScratch creates a Scratch in the system's folder for temporary files. It removes folders that
// ended processes have left there.
func OpenScratch() (*Scratch, error) {
	sweepScratch(os.TempDir())
	for try := 1; ; try++ {
		dir, err := os.MkdirTemp(os.TempDir(), scratchPrefix)
		if err != nil {
			return nil, err
		}
		lock, err := lockScratch(dir)
		if err == nil {
			return &Scratch{dir: dir, lock: lock, now: time.Now, runs: map[string]*scratchRun{}}, nil
		}
		if try == 10 { // another process's sweep may briefly hold the lock
			return nil, err
		}
	}
}

// sweepScratch removes this user's folders whose process has ended. A folder that cannot be removed
// is left for the next sweep.
func sweepScratch(parent string) {
	folders, _ := filepath.Glob(filepath.Join(parent, scratchPrefix+"*"))
	for _, folder := range folders {
		info, err := os.Lstat(folder)
		if err != nil || !info.IsDir() {
			continue
		}
		if st, ok := info.Sys().(*syscall.Stat_t); !ok || int(st.Uid) != os.Geteuid() {
			continue
		}
		if lock, err := lockScratch(folder); err == nil {
			_ = removeAll(folder)
			lock.Close()
		}
	}
}

// lockScratch takes the lock that marks a folder as in use. The system releases the lock when the
// process ends.
func lockScratch(dir string) (*os.File, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// Close removes all folders. No command may be running.
func (s *Scratch) Close() error { return errors.Join(removeAll(s.dir), s.lock.Close()) }

// Drop removes the folders of a run that has ended. If a command of the run still uses them, they
// are removed when the command ends.
func (s *Scratch) Drop(run string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.runs[run]
	if r == nil {
		return
	}
	delete(s.runs, run)
	if r.users == 0 {
		_ = removeAll(r.dir) // Close tries again
	}
}

// take returns the folders of run for one command. The caller must call release when the command
// has ended. Without a run or a Scratch, no other command uses the folders.
func (s *Scratch) take(run string) (scratchFolders, error) {
	if s == nil || run == "" {
		dir, err := os.MkdirTemp(os.TempDir(), "perdure-call-")
		if err != nil {
			return scratchFolders{}, err
		}
		f := scratchFolders{dir: dir, slot: filepath.Join(dir, ".slot-0"), release: func() { _ = removeAll(dir) }}
		return f, os.Mkdir(f.slot, 0o700)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.expire()
	r, err := s.of(run)
	if err != nil {
		return scratchFolders{}, err
	}
	i := slices.Index(r.slots, false)
	if i < 0 {
		i, r.slots = len(r.slots), append(r.slots, false)
	}
	slot := filepath.Join(r.dir, ".slot-"+strconv.Itoa(i))
	if err := os.Mkdir(slot, 0o700); err != nil && !os.IsExist(err) {
		return scratchFolders{}, err
	}
	r.slots[i] = true
	r.users++
	r.used = s.now()
	return scratchFolders{dir: r.dir, slot: slot, release: func() { s.release(run, r, i) }}, nil
}

// of returns the folders of run, and creates them if necessary.
func (s *Scratch) of(run string) (*scratchRun, error) {
	if r := s.runs[run]; r != nil {
		return r, nil
	}
	dir, err := os.MkdirTemp(s.dir, "run-")
	if err != nil {
		return nil, err
	}
	r := &scratchRun{dir: dir, used: s.now()}
	s.runs[run] = r
	return r, nil
}

// first reports whether this is the first call with run and boundBy. Without a Scratch or a run, or
// if the run's folder cannot be created, it returns false.
func (s *Scratch) first(run, boundBy string) bool {
	if s == nil || run == "" {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	r, err := s.of(run)
	if err != nil || slices.Contains(r.told, boundBy) {
		return false
	}
	r.told = append(r.told, boundBy)
	return true
}

func (s *Scratch) release(run string, r *scratchRun, slot int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r.slots[slot] = false
	r.users--
	r.used = s.now()
	if r.users == 0 && s.runs[run] != r {
		_ = removeAll(r.dir) // Drop was called while the command ran
	}
}

// expire removes the folders of runs that have been idle for scratchIdle.
func (s *Scratch) expire() {
	for run, r := range s.runs {
		if r.users == 0 && s.now().Sub(r.used) > scratchIdle {
			delete(s.runs, run)
			_ = removeAll(r.dir)
		}
	}
}

// removeAll removes dir and its content, including folders that commands made unreadable for their
// own user.
func removeAll(dir string) error {
	if os.RemoveAll(dir) == nil {
		return nil
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	openFolders(root, ".")
	return errors.Join(root.Close(), os.RemoveAll(dir))
}

// openFolders sets the mode of all folders below rel to 0700. It follows no symlink out of root.
func openFolders(root *os.Root, rel string) {
	_ = root.Chmod(rel, 0o700)
	f, err := root.Open(rel)
	if err != nil {
		return
	}
	entries, _ := f.ReadDir(-1)
	f.Close()
	for _, e := range entries {
		if e.IsDir() {
			openFolders(root, filepath.Join(rel, e.Name()))
		}
	}
}
