// Package sqlitetest provides the files of empty SQLite stores for tests.
package sqlitetest

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
)

// empty contains the file of an empty store, once it was created.
var empty struct {
	once    sync.Once
	content []byte
	err     error
}

// Place writes the file of an empty store to path, unless a file exists there. A store that opens
// this file skips the migrations, which take longer than most tests. It does not treat the file as
// a copy, so it neither checks the whole file nor renews the epoch: all such stores of a test
// binary have the same epoch. The function `create` must create a store and close it; Place calls
// it once in each test binary.
func Place(path string, create func(path string) error) error {
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	empty.once.Do(func() { empty.content, empty.err = contentOf(create) })
	if empty.err != nil {
		return empty.err
	}
	return os.WriteFile(path, empty.content, 0o600)
}

func contentOf(create func(path string) error) ([]byte, error) {
	dir, err := os.MkdirTemp("", "perdure-empty-")
	if err != nil {
		return nil, err
	}
	path := filepath.Join(dir, "perdure.db")
	if err := create(path); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	content, err := os.ReadFile(path)
	if err == nil {
		clear(content[userVersion : userVersion+4])
	}
	return content, errors.Join(err, os.RemoveAll(dir))
}

// userVersion is the offset of the user_version in the header of a SQLite file. A store that opens
// a file writes the fingerprint of its mark file there. 0 means that no store has opened the file.
const userVersion = 60
