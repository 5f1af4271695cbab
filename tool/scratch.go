package tool

import (
	"errors"
	"os"
	"path/filepath"
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
}

// OpenScratch makes a Scratch in the system's folder for temporary files, and
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

// take returns the folder of run, and release, to be called when the command
// that uses it has ended. Without a run, or a Scratch, the folder is the
// command's own.
func (s *Scratch) take(run string) (dir string, release func(), err error) {
	if s == nil || run == "" {
		dir, err = os.MkdirTemp(os.TempDir(), "perdure-call-")
		return dir, func() { _ = removeAll(dir) }, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.expire()
	r := s.runs[run]
	if r == nil {
		if dir, err = os.MkdirTemp(s.dir, "run-"); err != nil {
			return "", nil, err
		}
		r = &scratchRun{dir: dir}
		s.runs[run] = r
	}
	r.users++
	r.used = s.now()
	return r.dir, func() { s.release(run, r) }, nil
}

func (s *Scratch) release(run string, r *scratchRun) {
	s.mu.Lock()
	defer s.mu.Unlock()
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
