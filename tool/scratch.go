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
	// scratchPrefix begins the names of folders that hold temporary folders.
	scratchPrefix = "perdure-scratch-"
	// scratchIdle is how long a run that calls no command keeps its folders.
	scratchIdle = 24 * time.Hour
)

// Scratch keeps temporary folders for runs: what their commands see as /tmp,
// /var/tmp, /run and /dev/shm. They last until Drop, 24 hours after the last
// command of the run, or Close. It may be used concurrently.
type Scratch struct {
	dir  string
	lock *os.File
	now  func() time.Time

	mu   sync.Mutex
	runs map[string]*scratchRun
}

// scratchRun is the folders of one run.
type scratchRun struct {
	dir   string
	users int
	used  time.Time
	slots []bool   // which slots a command uses
	told  []string // what the run's events say holds the limits
}

// scratchFolders are what one command has of a run's folders: dir is shared by
// commands that run at once, slot is not. Both last as long as the run.
type scratchFolders struct {
	dir, slot string
	release   func()
}

// OpenScratch creates a Scratch in the system's folder for temporary files, and
// removes what processes that are gone have left there.
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
		if try == 10 { // once or twice it may be another process's sweep
			return nil, err
		}
	}
}

// sweepScratch removes the folders of this user whose process is gone. What
// cannot be removed is left to the next sweep.
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

// lockScratch takes the lock that shows that a folder's process lives. The
// system gives it up when that dies.
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

// Close removes all folders. No command may run any more.
func (s *Scratch) Close() error { return errors.Join(removeAll(s.dir), s.lock.Close()) }

// Drop removes the folders of a run that has ended. While a command of the run
// uses them they stay until its end.
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

// take returns folders of run; release is to be called when the command that uses
// them has ended. Without a run, or a Scratch, they are the command's own.
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

// of returns the folders of run, which it makes.
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

// first reports whether it is asked about run and boundBy for the first time.
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
		_ = removeAll(r.dir) // dropped meanwhile
	}
}

// expire removes the folders of runs that have been idle for long.
func (s *Scratch) expire() {
	for run, r := range s.runs {
		if r.users == 0 && s.now().Sub(r.used) > scratchIdle {
			delete(s.runs, run)
			_ = removeAll(r.dir)
		}
	}
}

// removeAll removes dir with all that is in it, also below folders that commands
// made unreadable for their own user.
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

// openFolders gives the user access to all folders below rel. It follows no
// symlink out of root.
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
