package builtin

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"syscall"

	"github.com/google/uuid"
	"github.com/perdure/perdure/tool"
)

// recordProcessGroups creates a directory in which this process records the process groups that its
// tools start. It also kills the process groups that earlier processes have left behind. A lock on
// each directory shows that its process is alive; the system releases the lock when the process
// ends in any way.
func recordProcessGroups(data string, log *slog.Logger) (func(pgid int) (forget func()), error) {
	if data == "" {
		return nil, nil
	}
	all := filepath.Join(data, "groups")
	if err := killLeftGroups(all, log); err != nil {
		log.Warn("what an earlier process has left running may still run", "error", err)
	}
	own := filepath.Join(all, uuid.NewString())
	if err := os.MkdirAll(own, 0o700); err != nil {
		return nil, err
	}
	lock, err := lockFolder(own)
	if err != nil {
		return nil, err
	}
	record := tool.Recorder(own)
	return func(pgid int) func() {
		defer runtime.KeepAlive(lock) // a file without references is closed
		return record(pgid)
	}, nil
}

// killLeftGroups kills the process groups of processes that no longer exist.
func killLeftGroups(all string, log *slog.Logger) error {
	folders, err := filepath.Glob(filepath.Join(all, "*"))
	if err != nil {
		return err
	}
	var failed []error
	for _, folder := range folders {
		lock, err := lockFolder(folder)
		if err != nil {
			continue // the process of this directory is alive
		}
		killed, err := tool.KillRecorded(folder)
		if killed > 0 {
			log.Warn("killed what an earlier process had left running", "groups", killed)
		}
		failed = append(failed, err, os.Remove(folder), lock.Close())
	}
	return errors.Join(failed...)
}

// lockFolder locks the directory until the returned file is closed. A process keeps the file of its own
// directory open until the process ends.
func lockFolder(folder string) (*os.File, error) {
	f, err := os.Open(folder)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}
