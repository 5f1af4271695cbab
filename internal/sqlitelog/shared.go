package sqlitelog

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// ProvideShared creates an empty file for the shared memory of the connections to the database at
// path. SQLite requires the file even if the memory is not shared. ProvideShared does not open an
// existing file, because closing it would release the locks that this process has on it.
func ProvideShared(path string) error {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return err
	}
	shared := real + "-shm"
	if _, err := os.Lstat(shared); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := os.OpenFile(shared, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return f.Close()
}
