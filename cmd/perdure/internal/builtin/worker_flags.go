package builtin

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/perdure/perdure/cmd/perdure/internal/setup"
	"github.com/spf13/cobra"
)

// Flags adds the flags of every command with a worker.
func (w *Worker) Flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&w.Workspace, "workspace", "", "folder that the tools work in (default: the current one)")
	f.StringArrayVar(&w.allow, "allow-endpoint", nil, "URL=KEYVAR: let definitions name this model server, called with the key in this variable; may be repeated")
	w.ModelTableFlag(cmd)
	w.Bash.flags(cmd)
	w.secrets = func() []string { return setup.SecretFiles(cmd.Flags()) }
	f.StringVar(&w.scripts, "scripts", ".", "folder of the scripts that scripted/NAME plays")
}

// CheckWorkspace checks the workspace and makes its path absolute. It creates nothing.
func (w *Worker) CheckWorkspace() error {
	if err := w.Bash.check(); err != nil {
		return err
	}
	dir := w.Workspace
	if dir == "" {
		dir = "."
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return setup.NewUsageError("the workspace "+dir+" cannot be used: "+err.Error(), "")
	}
	if err := checkFolder(abs); err != nil {
		return err
	}
	w.Workspace = abs
	return nil
}

func checkFolder(dir string) error {
	found, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return setup.NewUsageError("the workspace folder "+dir+" does not exist", "make it, or give another one with --workspace")
	case err != nil:
		return setup.NewUsageError("the workspace folder "+dir+" cannot be used: "+err.Error(), "")
	case !found.IsDir():
		return setup.NewUsageError("the workspace "+dir+" is no folder", "give a folder with --workspace")
	}
	folder, err := os.Open(dir)
	if err != nil {
		return setup.NewFileError("the workspace folder cannot be used", err, "give another one with --workspace")
	}
	_ = folder.Close() // nothing was read or written
	return nil
}

// secretPaths returns the paths, besides the data directory, that tools may not access: files with
// secrets that this process was given, and other data directories of this user.
func (w *Worker) secretPaths(data string) []string {
	others := setup.OtherDataDirs(data)
	if w.secrets == nil {
		return others
	}
	return append(w.secrets(), others...)
}

// LimitFlags adds the flags for the limits of a worker that executes many runs. `drain` is the
// default of --drain.
func (w *Worker) LimitFlags(cmd *cobra.Command, drain time.Duration) {
	f := cmd.Flags()
	setup.CountFlag(f, &w.Agents, "agents", "", 50, 1, setup.Unbounded, "how many runs work at once")
	setup.CountFlag(f, &w.Tasks, "tasks", "", 20, 1, setup.Unbounded, "how many model calls and tools work at once")
	f.DurationVar(&w.Drain, "drain", drain, "how long work may take to end when the worker is stopped")
}
