package sqlite

import (
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/uuid"
	"github.com/perdure/perdure/internal/disk"
	"github.com/perdure/perdure/internal/store/sqlite/connection"
)

// markInfix is the part after the database file's name in the file name of a mark: see
// noticeRestore.
const markInfix = ".opened-"

// noticeRestore renews the epoch if the file has been copied or restored from a backup since it was
// last opened. Such a store uses the same positions and seqs for other records, so older cursors of
// clients must not be valid in it.
//
// Each opening creates an empty file beside the database, the mark, and stores the mark's
// fingerprint in the database. The fingerprint includes the mark's change time, which no program
// can set. So a restored database does not match the mark beside it, and a mark that is restored
// with the whole directory has another fingerprint. If a mark is changed or lost, the epoch is
// renewed without need, and all readers start from the beginning once.
func noticeRestore(v connection.View, path string) error {
	fits, old, err := fitsMark(v, path)
	if err != nil {
		return err
	}
	if !fits {
		if _, err := v.Run("UPDATE store SET epoch = ? WHERE id = 1", randomEpoch()); err != nil {
			return err
		}
	}
	// The new mark is created before the database stores its fingerprint, and old marks are deleted
	// after that. So a matching mark exists after a crash at any moment.
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

// fitsMark reports whether one of the marks matches the fingerprint in the database. For a database
// without fingerprint and marks, it returns true: the database is new, or a version without marks
// has written it. fitsMark also returns the paths of the marks.
func fitsMark(v connection.View, path string) (fits bool, marks []string, err error) {
	var known int32
	if _, err := v.One("PRAGMA user_version", nil, &known); err != nil {
		return false, nil, err
	}
	if marks, err = marksOf(path); err != nil {
		return false, nil, err
	}
	fits = known == 0 && len(marks) == 0 // the file is new, or was written by a version without marks
	for _, mark := range marks {
		sum, err := fingerprint(mark)
		if err != nil {
			return false, nil, err
		}
		fits = fits || sum == known
	}
	return fits, marks, nil
}

// leaveMark creates a new mark and stores its fingerprint in the database.
func leaveMark(v connection.View, path string) error {
	mark := path + markInfix + uuid.NewString()
	if err := disk.WriteFile(mark, nil); err != nil {
		return err
	}
	sum, err := fingerprint(mark)
	if err != nil {
		return err
	}
	_, err = v.Run(fmt.Sprintf("PRAGMA user_version = %d", sum))
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

// fingerprint returns a hash of a mark's name and of the identity of its file. It is never 0,
// because 0 stands for a database without a mark.
func fingerprint(mark string) (int32, error) {
	f, err := os.Stat(mark)
	if err != nil {
		return 0, err
	}
	h := fnv.New32a()
	fmt.Fprint(h, filepath.Base(mark), " ", identity(f))
	return max(1, int32(h.Sum32()&0x7fffffff)), nil
}
