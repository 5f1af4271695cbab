package tool

import (
	"path/filepath"
	"sync"

	"github.com/perdure/perdure/internal/sandbox"
)

// holds contains the data directories that this process has opened, by the path of the first use.
var holds struct {
	sync.Mutex
	byPath map[string]*held
}

// HoldDataDir opens the data directory at path until this process ends. From then on workspaces
// with that DataDir keep tools out of this folder, even if the folder or a folder above it is
// moved. Call it at the start, before any tool runs. OpenWorkspace calls it when a path is first
// used.
func HoldDataDir(path string) error {
	_, err := hold(path)
	return err
}

// hold returns the folder that path named at its first use. If that folder has been deleted, hold
// opens the folder that is there now.
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

// identity identifies a folder independently of its path.
type identity = sandbox.Identity
