// Package disk provides functions that SQLite does not have: atomic replacement of small files,
// free space, and a reserve of disk space.
package disk

import (
	"errors"
	"os"
	"path/filepath"
)

// WriteFile replaces the file at path. Only its owner can read the new file. The replacement is
// atomic: a reader gets the complete old or the complete new content, even after a crash or a power
// loss. The new content is durable when WriteFile returns.
func WriteFile(path string, content []byte) error {
	next := path + ".new"
	if err := writeSynced(next, content); err != nil {
		return errors.Join(err, remove(next))
	}
	if err := os.Rename(next, path); err != nil {
		return errors.Join(err, remove(next))
	}
	return SyncFolder(filepath.Dir(path))
}

// writeSynced writes a new file and flushes it. It first removes an existing file, whose mode may
// differ.
func writeSynced(path string, content []byte) error {
	if err := remove(path); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	return errors.Join(err, f.Sync(), f.Close())
}

// SyncFolder flushes a folder, so that the names in it are durable.
func SyncFolder(path string) error {
	folder, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}

// remove deletes a file if it exists.
func remove(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}
