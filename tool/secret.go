package tool

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"sync"
)

// errSecret is for file tools.
var errSecret = errors.New("it holds a secret of this program, which tools do not touch")

// secretFiles are the files that this process keeps from tools, by the path that
// it was given for each. A path has several files when one was replaced: a rename
// by a command must not bring an older one back into sight.
var secretFiles struct {
	sync.Mutex
	byPath map[string][]*held
}

// secretFilesMost bounds the files that are remembered for one path.
const secretFilesMost = 16

// HoldSecrets opens files with secrets for as long as this process lives: from
// then on workspaces with these Secrets keep tools out of these very files,
// wherever they are moved. A file that does not exist is passed over.
func HoldSecrets(paths []string) error {
	_, err := holdSecrets(paths)
	return err
}

// holdSecrets returns the files that paths name now, and those that they named
// before.
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

// rehold adds the file at path to those known, and forgets deleted ones.
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
		return known, nil // nothing is there, or commands cannot open it either
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
