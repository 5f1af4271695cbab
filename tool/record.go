package tool

import (
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
)

// Recorder returns the function for Call.Record that keeps a file per process
// group in dir, which it makes, so that KillRecorded can kill the groups whose
// worker died. A group that cannot be noted still runs; the log says so.
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
	return os.WriteFile(path, []byte(mark(pgid)), 0o600)
}

// KillRecorded kills the process groups that an earlier process recorded in dir
// and did not forget, and removes their records. Call it at the start, before
// anything is recorded. A record whose id belongs to something else by now
// kills nothing. It returns how many groups were alive; a dir that does not exist
// has none.
func KillRecorded(dir string) (killed int, err error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	var problems []error
	for _, entry := range entries {
		pgid, convErr := strconv.Atoi(entry.Name())
		if convErr != nil || pgid <= 1 {
			continue // not ours; 1 and 0 would be everybody
		}
		path := filepath.Join(dir, entry.Name())
		marked, readErr := os.ReadFile(path)
		if readErr != nil {
			problems = append(problems, readErr)
			continue
		}
		if isSame(pgid, string(marked)) {
			if g := newGroup(pgid); g.alive() > 0 {
				g.kill()
				killed++
			}
		}
		problems = append(problems, os.Remove(path))
	}
	return killed, errors.Join(append(problems, err)...)
}
