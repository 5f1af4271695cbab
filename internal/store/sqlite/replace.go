package sqlite

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/perdure/perdure"
)

// A store consists of a file and its log, and no file system renames two files at once. Between two
// renames, the new file would have the old log, or the old file would have no log. So the new file
// is first renamed to a name that marks it as the replacement. From then on the replacement is
// valid: if a crash interrupts the remaining steps, the next Open finishes them.
//

const (
	// comingInfix is the part after the store's name in the file name of its replacement;
	// replacedInfix is that part for the replaced store. A time stamp, the same in both names,
	// follows.
	comingInfix   = ".restoring-"
	replacedInfix = ".replaced-"
)

// beside lists suffixes. The path of a database and one of these suffixes make the path of a file
// that may belong to the database.
var beside = []string{"", "-wal", "-journal"}

// step is one step of a replacement. A crash may happen between two steps.
type step func() error

// replace replaces the store at path by the file `part`, which must be complete and have no log. No
// process may have the store open.
func replace(part, path string) error {
	coming, err := comingName(path)
	if err != nil {
		return err
	}
	for _, s := range announce(part, coming) {
		if err := s(); err != nil {
			return err
		}
	}
	return finishReplacing(path)
}

// announce returns the steps that rename the complete file `part` to `coming`. The file is then a
// valid replacement.
func announce(part, coming string) []step {
	return []step{
		func() error { return flush(part) },
		func() error { return os.Rename(part, coming) },
		func() error { return flush(filepath.Dir(coming)) },
	}
}

// comingName returns a file name for the replacement of the store at path. Neither this name nor the
// name that the replaced store will get is in use.
func comingName(path string) (string, error) {
	now := time.Now().UTC().Format("20060102T150405Z")
	for n := 1; ; n++ {
		stamp := now
		if n > 1 {
			stamp = fmt.Sprintf("%s-%d", now, n)
		}
		free, err := isFree(path+comingInfix+stamp, path+replacedInfix+stamp)
		if err != nil || free {
			return path + comingInfix + stamp, err
		}
	}
}

// isFree reports whether all of these names are unused. A name is used if a file has it, or if a
// file may belong to a database of that name, such as the log of that database.
func isFree(paths ...string) (bool, error) {
	for _, path := range paths {
		for _, end := range beside {
			if _, err := os.Lstat(path + end); !errors.Is(err, fs.ErrNotExist) {
				return false, err
			}
		}
	}
	return true, nil
}

// finishReplacing executes the remaining steps of a valid replacement of the store at path, if
// there is one. If it is interrupted, the next call executes the steps that remain.
func finishReplacing(path string) error {
	for {
		s, err := nextStep(path)
		if err != nil || s == nil {
			return err
		}
		if err := s(); err != nil {
			return err
		}
	}
}

// nextStep returns the next step of an unfinished replacement of the store at path, derived from
// the existing files; nil if no step remains.
func nextStep(path string) (step, error) {
	coming, err := comingFor(path)
	if err != nil || coming == "" {
		return nil, err
	}
	aside := path + replacedInfix + strings.TrimPrefix(coming, path+comingInfix)
	for _, end := range beside {
		from, to := path+end, aside+end
		if _, err := os.Lstat(from); errors.Is(err, fs.ErrNotExist) {
			continue
		} else if err != nil {
			return nil, err
		}
		if _, err := os.Lstat(to); !errors.Is(err, fs.ErrNotExist) {
			return nil, errors.Join(err, perdure.Errorf(perdure.Conflict,
				"a restore of %s was cut off, and both %s and %s are there; move one of them elsewhere", path, from, to))
		}
		return func() error { return renamed(from, to) }, nil
	}
	shared := path + "-shm"
	if _, err := os.Lstat(shared); err == nil {
		return func() error { return remove(shared) }, nil
	}
	return func() error { return renamed(coming, path) }, nil
}

// renamed renames a file and syncs the directory, so that the next step cannot become durable
// before the rename.
func renamed(from, to string) error {
	if err := os.Rename(from, to); err != nil {
		return err
	}
	return flush(filepath.Dir(to))
}

// comingFor returns the path of the replacement of the store at path; "" if there is none.
func comingFor(path string) (string, error) {
	files, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		return "", err
	}
	for _, f := range files {
		if stamp, ok := strings.CutPrefix(f.Name(), filepath.Base(path)+comingInfix); ok {
			return path + comingInfix + stamp, nil
		}
	}
	return "", nil
}

// refuseHalfReplaced returns an error if a replacement of the store is not finished. It is for
// callers that must not finish the replacement, because another process may be using the store.
func refuseHalfReplaced(path string) error {
	coming, err := comingFor(path)
	if err != nil || coming == "" {
		return nil // if the folder cannot be read, opening the file reports that
	}
	return perdure.Errorf(perdure.Conflict, "a restore of %s was cut off; start the server on it once, and it is finished", path)
}

// removeStore deletes a database with all its files. SQLite would use a remaining log as the log of
// the next file with that name.
func removeStore(path string) error {
	var errs []error
	for _, end := range append([]string{"-shm"}, beside...) {
		errs = append(errs, remove(path+end))
	}
	return errors.Join(errs...)
}
