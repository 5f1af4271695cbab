// Package hold keeps the data directory and files with secrets open until this process ends, so that tools
// recognise them even after a rename.
package hold

import (
	"path/filepath"
	"sync"
)

// holds has the data directories that this process has opened. The map's keys are the absolute
// paths with which DataDir was called.
var holds struct {
	sync.Mutex
	byPath map[string]*File
}

// DataDir returns the folder that was at path when DataDir was first called with this path. If that folder
// has been deleted, DataDir opens the folder that is there now.
func DataDir(path string) (*File, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	holds.Lock()
	defer holds.Unlock()
	if h := holds.byPath[abs]; h != nil && !h.Deleted() {
		return h, nil
	}
	h, err := openFolder(abs)
	if err != nil {
		return nil, err
	}
	if holds.byPath == nil {
		holds.byPath = map[string]*File{}
	}
	holds.byPath[abs] = h
	return h, nil
}
