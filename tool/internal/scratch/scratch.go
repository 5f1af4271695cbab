// Package scratch contains the temporary folders of commands: for each run, folders that all of its
// commands share.
package scratch

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
	// prefix is the beginning of the name of each folder in which a Store has its temporary folders.
	prefix = "perdure-scratch-"
	// idleTime is how long the folders of a run stay after its last command.
	idleTime = 24 * time.Hour
)

// Store has the temporary folders of all runs, see tool.Scratch. It is safe for concurrent use.
type Store struct {
	dir  string
	lock *os.File
	now  func() time.Time

	mu   sync.Mutex
	runs map[string]*runFolders
}

// runFolders describes the temporary folders of one run.
type runFolders struct {
	dir   string
	users int
	used  time.Time
	slots []bool   // slots[i] is true while a command uses the slot i
	told  []string // values of boundBy with which First was called for this run
}

// Folders are the temporary folders for one command of a run. All commands of a run share Dir.
// Commands that run at the same time each have a Slot of their own. Both folders exist as long as
// the run.
type Folders struct {
	Dir, Slot string
	Release   func()
}

// Open creates a Store in the system's folder for temporary files. It also removes folders that other
// processes left there when they ended.
func Open() (*Store, error) {
	sweep(os.TempDir())
	for try := 1; ; try++ {
		dir, err := os.MkdirTemp(os.TempDir(), prefix)
		if err != nil {
			return nil, err
		}
		lock, err := lockFolder(dir)
		if err == nil {
			return &Store{dir: dir, lock: lock, now: time.Now, runs: map[string]*runFolders{}}, nil
		}
		if try == 10 { // the sweep of another process may briefly hold the lock
			return nil, err
		}
	}
}

// sweep removes this user's folders of ended Stores from the folder `parent`: those that no living
// process has locked. If a folder cannot be removed, the next sweep tries again.
func sweep(parent string) {
	folders, _ := filepath.Glob(filepath.Join(parent, prefix+"*"))
	for _, folder := range folders {
		info, err := os.Lstat(folder)
		if err != nil || !info.IsDir() {
			continue
		}
		if st, ok := info.Sys().(*syscall.Stat_t); !ok || int(st.Uid) != os.Geteuid() {
			continue
		}
		if lock, err := lockFolder(folder); err == nil {
			_ = removeAll(folder)
			lock.Close()
		}
	}
}

// lockFolder takes the lock that marks the folder dir as in use. The system releases the lock when the
// process ends.
func lockFolder(dir string) (*os.File, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// Close removes the folders of all runs. No command may be running.
func (s *Store) Close() error { return errors.Join(removeAll(s.dir), s.lock.Close()) }

// Drop removes the folders of a run that has ended. If a command of the run still uses the folders, they
// are removed when the command ends.
func (s *Store) Drop(run string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.runs[run]
	if r == nil {
		return
	}
	delete(s.runs, run)
	if r.users == 0 {
		_ = removeAll(r.dir) // if it fails, Close tries again
	}
}

// Take returns folders for one command of the run. The caller calls Release of the folders when the
// command has ended. If run is "" or there is no Store, the folders are new, and no other command
// uses them.
func (s *Store) Take(run string) (Folders, error) {
	if s == nil || run == "" {
		dir, err := os.MkdirTemp(os.TempDir(), "perdure-call-")
		if err != nil {
			return Folders{}, err
		}
		f := Folders{Dir: dir, Slot: filepath.Join(dir, ".slot-0"), Release: func() { _ = removeAll(dir) }}
		return f, os.Mkdir(f.Slot, 0o700)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.expire()
	r, err := s.of(run)
	if err != nil {
		return Folders{}, err
	}
	i := slices.Index(r.slots, false)
	if i < 0 {
		i, r.slots = len(r.slots), append(r.slots, false)
	}
	slot := filepath.Join(r.dir, ".slot-"+strconv.Itoa(i))
	if err := os.Mkdir(slot, 0o700); err != nil && !os.IsExist(err) {
		return Folders{}, err
	}
	r.slots[i] = true
	r.users++
	r.used = s.now()
	return Folders{Dir: r.dir, Slot: slot, Release: func() { s.release(run, r, i) }}, nil
}

// of returns the folders of a run, and creates them if necessary.
func (s *Store) of(run string) (*runFolders, error) {
	if r := s.runs[run]; r != nil {
		return r, nil
	}
	dir, err := os.MkdirTemp(s.dir, "run-")
	if err != nil {
		return nil, err
	}
	r := &runFolders{dir: dir, used: s.now()}
	s.runs[run] = r
	return r, nil
}

// First reports whether this is the first call with this run and this value of `boundBy`, the name
// of the mechanism that enforces the limits of a command. It returns false if there is no Store or
// run, or if the folder of the run cannot be created.
func (s *Store) First(run, boundBy string) bool {
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

func (s *Store) release(run string, r *runFolders, slot int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r.slots[slot] = false
	r.users--
	r.used = s.now()
	if r.users == 0 && s.runs[run] != r {
		_ = removeAll(r.dir) // Drop was called while the command ran
	}
}

// expire removes the folders of each run whose last command was idleTime ago.
func (s *Store) expire() {
	for run, r := range s.runs {
		if r.users == 0 && s.now().Sub(r.used) > idleTime {
			delete(s.runs, run)
			_ = removeAll(r.dir)
		}
	}
}

// removeAll removes dir with its content, even if a command has made a folder in it unreadable for this
// user.
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

// openFolders sets the mode of the folder rel in root, and of all folders below it, to 0700, so that
// their content can be removed. It follows no symlink out of root.
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
