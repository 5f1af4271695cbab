package hold

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"sync"
)

// secretFiles are the files that tools of this process must not read, by configured path. If the file at a
// path was replaced, the older files stay in the list: a command could otherwise rename a secret and read
// it under its new name.
var secretFiles struct {
	sync.Mutex
	byPath map[string][]*File
}

// secretFilesMost is the maximum number of files in secretFiles for one path.
const secretFilesMost = 16

// Secrets returns the files that are at the paths now. It also returns the files that were at these paths
// at earlier calls and still exist.
func Secrets(paths []string) ([]*File, error) {
	secretFiles.Lock()
	defer secretFiles.Unlock()
	var all []*File
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
			secretFiles.byPath = map[string][]*File{}
		}
		secretFiles.byPath[abs] = files
		all = append(all, files...)
	}
	return all, nil
}

// rehold returns the list `known` without the files that were deleted, but with the file that is
// now at the path.
func rehold(path string, known []*File) ([]*File, error) {
	known = slices.DeleteFunc(known, func(h *File) bool {
		gone := h.Deleted()
		if gone {
			h.close()
		}
		return gone
	})
	now, err := openFile(path)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return known, nil // the file does not exist, or commands cannot open it either
	}
	if err != nil {
		return known, err
	}
	if slices.ContainsFunc(known, now.Same) {
		now.close()
		return known, nil
	}
	if len(known) == secretFilesMost {
		now.close()
		return known, fmt.Errorf("%d files have taken each other's place; remove the old ones", secretFilesMost)
	}
	return append(known, now), nil
}
