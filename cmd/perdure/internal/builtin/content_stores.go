package builtin

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/worker/local"
)

// MaxContentStores is the maximum number of workers that use one data directory at once.
const MaxContentStores = 100

// ContentStoreDir returns the directory of the nth content store, in which a worker stores the
// contents of LOCAL runs. Workers that use the data directory at the same time need different
// stores. The first is "worker", the second "worker-2", and so on.
func ContentStoreDir(data string, n int) string {
	if n == 1 {
		return filepath.Join(data, "worker")
	}
	return filepath.Join(data, fmt.Sprintf("worker-%d", n))
}

// openContentStore opens the first content store of the data directory that no other worker uses.
// If `home` is set, it opens only the content store of the worker with this id.
func openContentStore(data string, home *uuid.UUID, checkBefore bool) (*local.Store, error) {
	if home != nil {
		return openHomeStore(data, *home, checkBefore)
	}
	for n := 1; n <= MaxContentStores; n++ {
		s, err := openStore(ContentStoreDir(data, n), checkBefore)
		if !perdure.IsCode(err, perdure.Conflict) {
			return s, err
		}
	}
	return nil, perdure.Errorf(perdure.Conflict, "the data directory %s has %d workers already; give this one another with --data", data, MaxContentStores)
}

// openHomeStore opens the content store of the worker with the id `home`, the home worker of a
// LOCAL run.
func openHomeStore(data string, home uuid.UUID, checkBefore bool) (*local.Store, error) {
	for n := 1; n <= MaxContentStores; n++ {
		dir := ContentStoreDir(data, n)
		if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
			break
		}
		id, err := local.ReadID(dir)
		if err != nil {
			return nil, err
		}
		if id != home {
			continue
		}
		s, err := openStore(dir, checkBefore)
		if perdure.IsCode(err, perdure.Conflict) {
			return nil, perdure.Errorf(perdure.Conflict, "the run's content is on worker %s, which is in use by another process; end that, or wait for it", home)
		}
		return s, err
	}
	return nil, perdure.Errorf(perdure.NotFound, "the run's content is on worker %s, and the data directory %s is not that worker's; go on with the run where it was started", home, data)
}

// openStore opens a worker's store, after a complete check if checkBefore is set.
func openStore(dir string, checkBefore bool) (*local.Store, error) {
	if checkBefore {
		return local.OpenChecked(dir)
	}
	return local.Open(dir)
}
