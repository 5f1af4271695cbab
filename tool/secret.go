package tool

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"sync"
)

// errSecret is the error of file tools for a secret.
var errSecret = errors.New("it holds a secret of this program, which tools do not touch")

// secretFiles are the files that tools of this process cannot read, by configured path. If the file
// at a path was replaced, the path has several files, because a command could otherwise expose an
// older file by a rename.
var secretFiles struct {
	sync.Mutex
	byPath map[string][]*held
}

// secretFilesMost is the maximum number of files for one path.
const secretFilesMost = 16

// HoldSecrets opens files with secrets until this process ends. From then on workspaces with these
// Secrets keep tools out of these files, even if the files are moved. A file that does not exist is
// skipped.
func HoldSecrets(paths []string) error {
	_, err := holdSecrets(paths)
	return err
}

// holdSecrets returns the files that paths name now, and those that they named before and that
// still exist.
func holdSecrets(paths []string) ([]*held, error) {
	secretFiles.Lock()
	defer secretFiles.Unlock()
	var all []*held
	for _, path := range paths {
		abs, err := filepath.Abs(path)
		if err != nil {
			return nil, err
		}
		files, err := rehold(abs, secretFiles.byPath[abs])
		if err != nil {
			return nil, fmt.Errorf("the secret file %s cannot be kept from commands: %w", path, err)
		}
		if secretFiles.byPath == nil {
			secretFiles.byPath = map[string][]*held{}
		}
		secretFiles.byPath[abs] = files
		all = append(all, files...)
	}
	return all, nil
}

// rehold returns known without the deleted files and with the file that is now at path.
func rehold(path string, known []*held) ([]*held, error) {
	known = slices.DeleteFunc(known, func(h *held) bool {
		gone := h.deleted()
		if gone {
			h.close()
		}
		return gone
	})
	now, err := openHeldFile(path)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return known, nil // the file does not exist, or commands cannot open it either
	}
	if err != nil {
		return known, err
	}
	if slices.ContainsFunc(known, now.same) {
		now.close()
		return known, nil
	}
	if len(known) == secretFilesMost {
		now.close()
		return known, fmt.Errorf("%d files have taken each other's place; remove the old ones", secretFilesMost)
	}
	return append(known, now), nil
}
