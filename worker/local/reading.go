package local

import (
	"database/sql"
	"errors"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/sqlitelog"
)

// OpenReadOnly opens the store in the directory dir without writing anything. It also works on a full disk,
// and while the worker of the store runs. The caller may call only WorkerID, Close and methods that read.
// Error: not_found if there is no store.
func OpenReadOnly(dir string) (*Store, error) {
	id, err := ReadID(dir)
	if err != nil {
		return nil, err
	}
	path := filepath.Join(dir, contentsFile)
	if _, err := os.Stat(path); id == uuid.Nil || errors.Is(err, fs.ErrNotExist) {
		return nil, perdure.Errorf(perdure.NotFound, "there is no worker's store at %s", dir)
	}
	if err := sqlitelog.ProvideShared(path); err != nil {
		return nil, err
	}
	readers, err := sql.Open("sqlite", dsn(path, url.Values{"mode": {"ro"}, "readonly_shm": {"1"}}))
	if err != nil {
		return nil, err
	}
	return &Store{dir: dir, id: id, readers: readers}, nil
}
