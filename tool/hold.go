package tool

import (
	"path/filepath"
	"sync"

	"github.com/perdure/perdure/internal/sandbox"
)

// holds are the data directories that this process has opened, by the path that
// it knew them by first.
var holds struct {
	sync.Mutex
	byPath map[string]*held
}

// HoldDataDir opens the data directory at path for as long as this process
// lives. From then on workspaces with that DataDir keep tools out of this very
// folder, wherever it or a folder above it is moved. Call it at the start, before
// any tool runs; OpenWorkspace does so at its first use of a path.
func HoldDataDir(path string) error {
	_, err := hold(path)
	return err
}

// hold returns the folder that path named when it was asked for first. A folder
// that has been deleted since is replaced by the one there now.
func hold(path string) (*held, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	holds.Lock()
	defer holds.Unlock()
	if h := holds.byPath[abs]; h != nil && !h.deleted() {
		return h, nil
	}
	h, err := openHeld(abs)
	if err != nil {
		return nil, err
	}
	if holds.byPath == nil {
		holds.byPath = map[string]*held{}
	}
	holds.byPath[abs] = h
	return h, nil
}

// identity names a folder whatever its path is.
type identity = sandbox.Identity
