// Package disk has what programs need to know of a disk and SQLite does not do for
// them: small files that are replaced whole, free space, and a reserve of it.
package disk

import (
	"errors"
	"os"
	"path/filepath"
)

// WriteFile replaces the file at path, readable to its owner alone. A reader sees
// the old content or the new one, and so does the next start after a crash or a
// loss of power. The new content is durable when WriteFile returns.
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

// writeSynced leaves no file that was there before: it may have another mode.
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

// SyncFolder makes the names in a folder durable.
func SyncFolder(path string) error {
	folder, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}

// remove deletes a file if it is there.
func remove(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}
