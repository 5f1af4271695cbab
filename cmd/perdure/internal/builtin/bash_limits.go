package builtin

import (
	"slices"

	"github.com/perdure/perdure/cmd/perdure/internal/setup"
	"github.com/perdure/perdure/cmd/perdure/internal/terminal"
	"github.com/perdure/perdure/tool"
	"github.com/spf13/cobra"
)

// bashLimits has the values of the flags that limit which files and resources the commands of the bash tool
// can use.
type bashLimits struct {
	sockets, confine, Net string

	files, processes int64
	fileSize, memory int64 // in MiB
}

func (f *bashLimits) flags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.sockets, "sockets", string(tool.SocketsDeny), "Unix sockets of bash: deny, or own: only those that the same command makes (needs bubblewrap, and takes the network and the caches away)")
	flags.StringVar(&f.confine, "confine", string(tool.ConfineAuto), "bash where nothing confines it: require refuses to start, auto runs it and says so in each run's events, off does not confine it anywhere")
	flags.StringVar(&f.Net, "net", string(tool.NetOpen), "network of bash: open, loopback (each command's own) or none; a definition may be stricter")
	flags.Int64Var(&f.files, "bash-files", 0, "how many files each process of a command may have open (default 4096; -1: no limit)")
	flags.Int64Var(&f.fileSize, "bash-file-size", 0, "how many MiB a file may have that a command writes (default 16384; -1: no limit)")
	flags.Int64Var(&f.processes, "bash-processes", 0, "how many processes a command may have at once (default 1024; -1: no limit)")
	flags.Int64Var(&f.memory, "bash-memory", 0, "how many MiB all processes of a command may use together (default three quarters of the machine's; -1: no limit)")
}

// options returns the options for the workspaces of a worker with these limits. `data` is the
// worker's data directory. `secrets` are the other paths that tools must not access.
func (f *bashLimits) options(data string, secrets []string) tool.WorkspaceOptions {
	return tool.WorkspaceOptions{
		DataDir: data, Secrets: secrets, Sockets: tool.Sockets(f.sockets), Confine: tool.Confine(f.confine), Net: tool.Net(f.Net),
		Limits: tool.Limits{OpenFiles: f.files, FileSize: bytesOf(f.fileSize), Processes: f.processes, Memory: bytesOf(f.memory)},
	}
}

// bytesOf converts MiB to bytes. It returns 0 and negative numbers unchanged, because 0 means the
// default and a negative number means no limit.
func bytesOf(mebibytes int64) int64 {
	if mebibytes <= 0 {
		return mebibytes
	}
	return min(mebibytes, 1<<40) << 20
}

// check returns an error if a flag has an invalid value.
func (f *bashLimits) check() error {
	for _, flag := range []struct {
		name, value string
		known       []string
		hint        string
	}{
		{"--sockets", f.sockets, []string{"", "deny", "own"}, "give deny or own"},
		{"--confine", f.confine, []string{"", "require", "auto", "off"}, "give require, auto or off"},
		{"--net", f.Net, []string{"", "open", "loopback", "none"}, "give open, loopback or none"},
	} {
		if !slices.Contains(flag.known, flag.value) {
			return setup.NewUsageError(flag.name+" "+flag.value+" is not known", flag.hint)
		}
	}
	if err := f.options("", nil).Limits.Check(); err != nil {
		return setup.NewUsageError("--bash-files, --bash-file-size, --bash-processes, --bash-memory: "+terminal.ErrorMessage(err), "")
	}
	return nil
}

// Confinement returns a text about what confines the commands of the bash tool to the workspace.
func (w *Worker) Confinement(data string) string {
	workspace, err := tool.OpenWorkspace(w.Workspace, "", w.Bash.options(data, w.secretPaths(data)))
	if err != nil {
		return terminal.ErrorMessage(err)
	}
	defer func() { _ = workspace.Close() }() // opened only for reading
	if note := workspace.ConfinementNote(); note != "" {
		return note
	}
	return "confined by " + workspace.Confinement() + ": it writes only the workspace, caches and temporary folders of its own, and reaches neither the data directory nor Unix sockets"
}

// checkConfinement returns an error for --confine require if nothing confines bash.
func (w *Worker) checkConfinement(data string) error {
	if w.Bash.confine != string(tool.ConfineRequire) {
		return nil
	}
	workspace, err := tool.OpenWorkspace(w.Workspace, "", w.Bash.options(data, w.secretPaths(data)))
	if err != nil {
		return setup.NewUsageError("--confine require: "+terminal.ErrorMessage(err), "docs/security.md says what confines bash, or give --confine auto")
	}
	return workspace.Close()
}

// Confines reports whether something confines the commands of the bash tool to the workspace.
func (w *Worker) Confines(data string) bool {
	workspace, err := tool.OpenWorkspace(w.Workspace, "", w.Bash.options(data, w.secretPaths(data)))
	if err != nil {
		return false
	}
	defer func() { _ = workspace.Close() }() // opened only for reading
	return workspace.Confines()
}

// Unconfined reports whether the user has switched off the confinement of the bash tool, with --confine
// off.
func (w *Worker) Unconfined() bool { return w.Bash.confine == string(tool.ConfineOff) }
