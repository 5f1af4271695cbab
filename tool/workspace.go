package tool

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/sandbox"
	"github.com/perdure/perdure/tool/internal/confine"
	"github.com/perdure/perdure/tool/internal/hold"
)

// WorkspaceOptions configures a workspace. With the zero value, bash is confined by all means that
// this machine supports.
type WorkspaceOptions struct {
	// DataDir is the data directory of this program, which tools must not use; "" if there is none.
	// The folder must exist. When the process first uses this path, it opens the folder there. From
	// then on that folder is protected, even if it is moved; see HoldDataDir.
	DataDir string
	// Env has the names of environment variables that commands get in addition to PATH, HOME, LANG,
	// TMPDIR, TERM and the variables of toolchains. Variables whose names end in _API_KEY or begin
	// with PERDURE_ are never passed on.
	Env []string
	// Secrets are the paths of files that tools must not read: keys, credentials, keys of certificates, and
	// data directories of this user's other processes. A path need not exist yet.
	Secrets []string
	// Unconfined makes bash run without Landlock or bubblewrap, even if these are available.
	Unconfined bool
	// Confine says what happens if bash cannot be confined; "" means ConfineAuto. ConfineOff is the same as
	// Unconfined.
	Confine Confine
	// Net is the network access of commands; "" means NetOpen.
	Net Net
	// Limits are the limits of each command.
	Limits Limits
	// Sockets says whether commands may use Unix sockets; "" means SocketsDeny.
	Sockets Sockets
	// Scratch has the temporary folders that the commands of a run share. If it is nil, each
	// command has folders of its own, which are removed when the command ends.
	Scratch *Scratch
	// Groups creates a control group for each command, in which the kernel enforces the limits of processes
	// and memory. If it is nil, a watcher in this process enforces these limits.
	Groups *ControlGroups
}

// Confine says whether bash must be confined.
type Confine string

const (
	// ConfineAuto confines bash as far as the machine can. If the machine cannot confine bash, bash
	// runs unconfined.
	ConfineAuto Confine = "auto"
	// ConfineRequire makes OpenWorkspace return an error if bash cannot be confined.
	ConfineRequire Confine = "require"
	// ConfineOff does not confine bash.
	ConfineOff Confine = "off"
)

// Sockets says whether commands may use Unix sockets.
type Sockets string

const (
	// SocketsDeny keeps commands from creating Unix sockets, except pairs that are connected to each other.
	SocketsDeny Sockets = "deny"
	// SocketsOwn lets commands create and use Unix sockets, in namespaces of their own. A command can
	// connect only to sockets that it has created itself.
	SocketsOwn Sockets = "own"
)

// Workspace is the folder in which tools work. It is safe for concurrent use.
type Workspace struct {
	root *os.Root
	dir  string     // absolute path without symlinks
	data *hold.File // the data directory; nil if there is none
	// secrets are files that tools must not read.
	secrets []*hold.File
	// secretFolders are those secrets that are folders inside the workspace.
	secretFolders []*hold.File
	env           []string
	box           confine.Confinement
	required      bool // whether commands may run only if they are confined
	// dataInside are the paths inside the workspace that lead to the data directory, and that file tools
	// must refuse.
	dataInside []string
}

// OpenWorkspace opens the folder dir as a workspace. The path is relative to root, under which a worker has
// all its workspaces; "" is root itself. Error: invalid_argument if the folder does not exist, is not a
// folder, leads out of root, or is inside the data directory.
func OpenWorkspace(root, dir string, o WorkspaceOptions) (*Workspace, error) {
	if dir == "" {
		dir = "."
	}
	top, err := os.OpenRoot(root)
	if err != nil {
		return nil, folderError(root, err)
	}
	defer top.Close()
	sub, err := top.OpenRoot(dir)
	if err != nil {
		return nil, folderError(dir+" (in "+root+")", err)
	}
	w := &Workspace{root: sub, env: o.Env}
	if err := w.locate(filepath.Join(root, dir), o); err != nil {
		sub.Close()
		return nil, err
	}
	return w, nil
}

// locate sets the real path of the workspace and chooses the confinement.
func (w *Workspace) locate(dir string, o WorkspaceOptions) (err error) {
	if w.dir, err = sandbox.RealPath(dir); err != nil {
		return folderError(dir, err)
	}
	if err := o.check(); err != nil {
		return err
	}
	if w.secrets, err = hold.Secrets(o.Secrets); err != nil {
		return err
	}
	if err := w.keepOutOfFolders(); err != nil {
		return err
	}
	if o.DataDir != "" {
		if err := w.keepOut(o.DataDir); err != nil {
			return err
		}
	}
	if note := hold.Linked(w.secrets, nil); o.Confine == ConfineRequire && note != "" {
		return perdure.FieldErrorf("secrets", "%s", note)
	}
	w.required, w.box = o.Confine == ConfineRequire, w.confinement(o)
	if w.required && !w.Confines() {
		return perdure.FieldErrorf("confine", "bash has to be confined, and cannot be here: %s", w.box.Note)
	}
	return nil
}

func (o WorkspaceOptions) check() error {
	switch {
	case o.Sockets != "" && o.Sockets != SocketsDeny && o.Sockets != SocketsOwn:
		return perdure.FieldErrorf("sockets", "%q is neither %q nor %q", o.Sockets, SocketsDeny, SocketsOwn)
	case !slices.Contains([]Confine{"", ConfineAuto, ConfineRequire, ConfineOff}, o.Confine):
		return perdure.FieldErrorf("confine", "%q is not one of require, auto, off", o.Confine)
	case o.Unconfined && o.Confine == ConfineRequire:
		return perdure.FieldErrorf("confine", "require and Unconfined exclude each other")
	}
	if err := o.Net.Check("net"); err != nil {
		return err
	}
	return o.Limits.Check()
}

// keepOut opens the data directory, and finds the paths inside the workspace that lead to it.
func (w *Workspace) keepOut(dataDir string) error {
	cannot := func(err error) error {
		return perdure.FieldErrorf("dataDir", "%s cannot be opened: %s", dataDir, reason(err))
	}
	var err error
	if w.data, err = hold.DataDir(dataDir); err != nil {
		return cannot(err)
	}
	views, err := w.data.Views()
	if err != nil {
		return cannot(err)
	}
	for _, view := range views {
		if sandbox.Within(w.dir, view) {
			return perdure.FieldErrorf("workspace", "%s lies inside the data directory %s", w.dir, view)
		}
		if sandbox.Within(view, w.dir) {
			w.dataInside = append(w.dataInside, view)
		}
	}
	return nil
}

// keepOutOfFolders finds the secrets that are folders inside the workspace.
func (w *Workspace) keepOutOfFolders() error {
	for _, h := range w.secrets {
		if !h.Folder() {
			continue
		}
		views, err := h.Views()
		if err != nil {
			return err
		}
		for _, view := range views {
			if sandbox.Within(w.dir, view) {
				return perdure.FieldErrorf("workspace", "%s lies inside %s, which holds secrets", w.dir, view)
			}
		}
		if slices.ContainsFunc(views, func(view string) bool { return sandbox.Within(view, w.dir) }) {
			w.secretFolders = append(w.secretFolders, h)
		}
	}
	return nil
}

func folderError(dir string, err error) error {
	return perdure.FieldErrorf("workspace", "the folder %s cannot be used: %s", dir, reason(err))
}

// Close closes the workspace. No tool call may be running in it.
func (w *Workspace) Close() error { return w.root.Close() }

// ForRun sets the id of the run whose tool calls use the workspace. With a Scratch, the commands of one run
// share /tmp, /var/tmp, /run and /dev/shm.
func (w *Workspace) ForRun(run string) { w.box.Run = run }

// withNet returns the confinement of commands for a call. The stricter of two network limits
// applies: that of the workspace and the argument `net`.
func (w *Workspace) withNet(net Net) confine.Confinement {
	narrow := max(w.box.Net, net.level())
	if narrow == w.box.Net {
		return w.box
	}
	o := w.box.Options
	o.Net = narrow
	c := confine.Choose(o)
	if w.required && c.Method == sandbox.NotConfined && c.Refusal == "" {
		c.Refusal = "bash has to be confined, and cannot be here: " + c.Note
	}
	return c
}

// Dir returns the workspace's absolute path.
func (w *Workspace) Dir() string { return w.dir }

// Confinement returns the name of the method that confines bash: "landlock", "bwrap" or "none".
func (w *Workspace) Confinement() string { return string(w.box.Method) }

// Confines reports whether commands of bash are confined.
func (w *Workspace) Confines() bool { return w.box.Method != sandbox.NotConfined }

// ConfinementNote returns a sentence which says what the confinement does not prevent, or why there
// is no confinement. It returns "" if there is nothing to say.
func (w *Workspace) ConfinementNote() string { return w.box.Note }

var (
	errOutside = errors.New("it is outside the workspace")
	errSecret  = errors.New("it holds a secret of this program, which tools do not touch")
	errDataDir = errors.New("it belongs to the data directory, which tools do not touch")
	errIsDir   = errors.New("it is a directory")
	// errRunsLater is the error with which file tools refuse to write to a file that programs outside
	// the sandbox later run or read as configuration. Such a write would be a way out of the sandbox.
	errRunsLater = errors.New("programs outside of the sandbox run or obey it, so file tools do not write it")
	errSpecial   = errors.New("it is neither a file nor a directory")
)

// reason returns the text of err without the path in it, because the message around it has the path.
func reason(err error) string {
	var pathErr *fs.PathError
	var linkErr *os.LinkError
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "it does not exist"
	case errors.Is(err, fs.ErrPermission):
		return "permission denied"
	case strings.Contains(err.Error(), "path escapes from parent"):
		return errOutside.Error() // package os does not export this error
	case errors.As(err, &pathErr):
		return pathErr.Err.Error()
	case errors.As(err, &linkErr):
		return linkErr.Err.Error()
	}
	return err.Error()
}
