package tool

import (
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"

	"github.com/perdure/perdure/tool/internal/group"
)

// Recorder returns a function for Call.Record. That function writes a file for each process group
// to the folder dir. After the worker has died, KillRecorded kills the groups in these files. If a
// file cannot be written, the error is only logged.
func Recorder(dir string) func(pgid int) (forget func()) {
	return func(pgid int) func() {
		path := filepath.Join(dir, strconv.Itoa(pgid))
		if err := note(dir, path, pgid); err != nil {
			slog.Warn("a tool's process group is not recorded", "pgid", pgid, "err", err)
		}
		return func() {
			if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
				slog.Warn("a tool's process group stays recorded", "pgid", pgid, "err", err)
			}
		}
	}
}

func note(dir, path string, pgid int) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(group.Mark(pgid)), 0o600)
}

// KillRecorded kills the process groups that an earlier process has left: those that are still recorded
// in dir. It removes their records, and returns how many groups were alive. It does not kill a group
// whose id now belongs to other processes. Call it at the start of the program, before any group is
// recorded. If dir does not exist, it returns 0.
func KillRecorded(dir string) (killed int, err error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	var problems []error
	for _, entry := range entries {
		pgid, convErr := strconv.Atoi(entry.Name())
		if convErr != nil || pgid <= 1 {
			continue // this is no record; the ids 1 and 0 would signal unrelated processes
		}
		path := filepath.Join(dir, entry.Name())
		marked, readErr := os.ReadFile(path)
		if readErr != nil {
			problems = append(problems, readErr)
			continue
		}
		if group.IsSame(pgid, string(marked)) {
			if g := group.New(pgid); g.Alive() > 0 {
				g.Kill()
				killed++
			}
		}
		problems = append(problems, os.Remove(path))
	}
	return killed, errors.Join(append(problems, err)...)
}
