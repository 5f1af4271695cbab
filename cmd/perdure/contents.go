package main

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

// maxSeats is the maximum number of workers that use one data directory at once.
const maxSeats = 100

// contentsDir returns the directory of a worker's own store. It is "worker" for the first worker
// that uses the data directory at a time, "worker-2" for a second concurrent one, and so on.
func contentsDir(data string, seat int) string {
	if seat == 1 {
		return filepath.Join(data, "worker")
	}
	return filepath.Join(data, fmt.Sprintf("worker-%d", seat))
}

// openContents opens the first store of the data directory that no other worker uses. With home
// set, it opens only that worker's store.
func openContents(data string, home *uuid.UUID, checkBefore bool) (*local.Store, error) {
	if home != nil {
		return openHome(data, *home, checkBefore)
	}
	for seat := 1; seat <= maxSeats; seat++ {
		s, err := openStore(contentsDir(data, seat), checkBefore)
		if !perdure.IsCode(err, perdure.Conflict) {
			return s, err
		}
	}
	return nil, perdure.Errorf(perdure.Conflict, "the data directory %s has %d workers already; give this one another with --data", data, maxSeats)
}

// contentServer serves the contents of LOCAL runs to clients.
type contentServer interface {
	ServeContents(org string, worker uuid.UUID, source perdure.ContentSource) (end func())
}

// showContents serves the contents of LOCAL runs in this data directory, for commands that only
// read and while no worker is connected. open opens a worker's store; stores that it refuses are
// skipped. hide stops serving.
func showContents(data, org string, own contentServer, open func(dir string) (*local.Store, error)) (hide func()) {
	var ends []func()
	for seat := 1; seat <= maxSeats; seat++ {
		dir := contentsDir(data, seat)
		if _, err := os.Stat(dir); err != nil {
			break
		}
		s, err := open(dir)
		if err != nil {
			continue
		}
		ends = append(ends, own.ServeContents(org, s.WorkerID(), s), func() { _ = s.Close() }) // opened only for reading
	}
	return func() {
		for _, end := range ends {
			end()
		}
	}
}

// openHome opens the store of the worker that holds a LOCAL run.
func openHome(data string, home uuid.UUID, checkBefore bool) (*local.Store, error) {
	for seat := 1; seat <= maxSeats; seat++ {
		dir := contentsDir(data, seat)
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
