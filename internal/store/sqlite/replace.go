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

// A store is a file and the log beside it, and no file system gives two files
// other names at once: in between, the new file would be there with the old log,
// or the old one without it. So what is to be in the place of a store is first
// made whole under a name that says so. From then on it counts: whoever opens the
// store finishes what a crash has cut off, and before that nothing has changed.

const (
	// comingInfix stands in the name of a file that is to take a store's place,
	// after that of the store; what follows is in the name of the replaced one, too.
	comingInfix   = ".restoring-"
	replacedInfix = ".replaced-"
)

// beside are the ends of the names of the files that may belong to a database.
var beside = []string{"", "-wal", "-journal"}

// step is one call of the system.
type step func() error

// replace puts part, which is whole and has no log, in the place of the store at
// path, which nobody has open.
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

// announce creates a replacement count.
func announce(part, coming string) []step {
	return []step{
		func() error { return flush(part) },
		func() error { return os.Rename(part, coming) },
		func() error { return flush(filepath.Dir(coming)) },
	}
}

// comingName returns a name that was given to nothing yet, nor was the one that the
// replaced store will have.
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

// isFree reports whether there is nothing of these names, nor of the files that
// belong to them.
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

// finishReplacing does what is left to do of a replacement that has begun to
// count, if there is one. It may be cut off anywhere, and done again.
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

// nextStep decides by what is there; nil is nothing.
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

// renamed renames a file, on the disk: the next step must not come before.
func renamed(from, to string) error {
	if err := os.Rename(from, to); err != nil {
		return err
	}
	return flush(filepath.Dir(to))
}

// comingFor returns the file that is to take the place of the store; "" if there is
// none.
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

// refuseHalfReplaced is for those who must not finish a replacement: the store may
// be another's.
func refuseHalfReplaced(path string) error {
	coming, err := comingFor(path)
	if err != nil || coming == "" {
		return nil // a folder that cannot be read is told of by whoever opens the file
	}
	return perdure.Errorf(perdure.Conflict, "a restore of %s was cut off; start the server on it once, and it is finished", path)
}

// removeStore takes away a database with all that belongs to it: a log that is
// left would pass for that of the next file of its name.
func removeStore(path string) error {
	var errs []error
	for _, end := range append([]string{"-shm"}, beside...) {
		errs = append(errs, remove(path+end))
	}
	return errors.Join(errs...)
}
