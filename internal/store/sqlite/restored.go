package sqlite

import (
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/uuid"
	"github.com/perdure/perdure/internal/disk"
)

// markInfix stands in the names of marks, after that of the database file.
const markInfix = ".opened-"

// noticeRestore renews the epoch if the file has been copied or put back from a
// backup since it was opened last. Then positions and seqs may be given again
// for other records, and a client's cursor must not pass for one of these.
//
// Each opening leaves an empty file beside the database, a mark, and in the
// database what tells that mark from all others, its time of change included,
// which no program can set. So a database that is put back does not fit the mark
// that is there, and a mark that is put back, with the whole directory, is
// another one. A mark that is touched or lost renews the epoch for nothing: all
// readers begin again, once.
func noticeRestore(v view, path string) error {
	fits, old, err := fitsMark(v, path)
	if err != nil {
		return err
	}
	if !fits {
		if _, err := v.exec("UPDATE store SET epoch = ? WHERE id = 1", randomEpoch()); err != nil {
			return err
		}
	}
	// The new mark is there before the database names it, and the old one after:
	// a crash in between leaves one that fits.
	if err := leaveMark(v, path); err != nil {
		return err
	}
	for _, mark := range old {
		if err := os.Remove(mark); err != nil {
			return err
		}
	}
	return nil
}

// fitsMark reports whether the file is the one that was opened here last, or a new
// one, and returns the marks that are there.
func fitsMark(v view, path string) (fits bool, marks []string, err error) {
	var known int32
	if _, err := v.one("PRAGMA user_version", nil, &known); err != nil {
		return false, nil, err
	}
	if marks, err = marksOf(path); err != nil {
		return false, nil, err
	}
	fits = known == 0 && len(marks) == 0 // new, or of a version that left no marks
	for _, mark := range marks {
		sum, err := fingerprint(mark)
		if err != nil {
			return false, nil, err
		}
		fits = fits || sum == known
	}
	return fits, marks, nil
}

// leaveMark creates a mark and notes it in the database.
func leaveMark(v view, path string) error {
	mark := path + markInfix + uuid.NewString()
	if err := disk.WriteFile(mark, nil); err != nil {
		return err
	}
	sum, err := fingerprint(mark)
	if err != nil {
		return err
	}
	_, err = v.exec(fmt.Sprintf("PRAGMA user_version = %d", sum))
	return err
}

func marksOf(path string) ([]string, error) {
	files, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	var found []string
	for _, f := range files {
		if strings.HasPrefix(f.Name(), filepath.Base(path)+markInfix) {
			found = append(found, filepath.Join(filepath.Dir(path), f.Name()))
		}
	}
	return found, nil
}

// fingerprint is never 0, which is what a database has that no mark was left for.
func fingerprint(mark string) (int32, error) {
	f, err := os.Stat(mark)
	if err != nil {
		return 0, err
	}
	h := fnv.New32a()
	fmt.Fprint(h, filepath.Base(mark), " ", identity(f))
	return max(1, int32(h.Sum32()&0x7fffffff)), nil
}
