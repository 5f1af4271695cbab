package main

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

// recordGroups creates a folder in which this process notes the process groups
// that its tools start, and kills what processes that are gone have left. A lock
// on a folder says that its process lives; the system gives it up when that
// dies, however it dies.
func recordGroups(data string, log *slog.Logger) (func(pgid int) (forget func()), error) {
	if data == "" {
		return nil, nil
	}
	all := filepath.Join(data, "groups")
	if err := killLeftovers(all, log); err != nil {
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
		defer runtime.KeepAlive(lock) // a file that nothing refers to is closed
		return record(pgid)
	}, nil
}

// killLeftovers looks through the folders of processes that are gone.
func killLeftovers(all string, log *slog.Logger) error {
	folders, err := filepath.Glob(filepath.Join(all, "*"))
	if err != nil {
		return err
	}
	var failed []error
	for _, folder := range folders {
		lock, err := lockFolder(folder)
		if err != nil {
			continue // its process lives
		}
		killed, err := tool.KillRecorded(folder)
		if killed > 0 {
			log.Warn("killed what an earlier process had left running", "groups", killed)
		}
		failed = append(failed, err, os.Remove(folder), lock.Close())
	}
	return errors.Join(failed...)
}

// lockFolder takes the lock for as long as the file is open; a process's own
// stays open to its end.
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
