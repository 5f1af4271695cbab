package confine

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"

	"github.com/perdure/perdure/internal/sandbox"
)

// findBwrap returns the path of bwrap, the program of bubblewrap, in the folders of PATH. It skips
// a program in the workspace dir, because a command may have written that program, and bwrap itself
// runs unconfined.
func findBwrap(dir string) (string, error) {
	for _, folder := range filepath.SplitList(os.Getenv("PATH")) {
		path, err := exec.LookPath(filepath.Join(folder, "bwrap"))
		if err != nil || !filepath.IsAbs(path) || sandbox.Within(path, dir) {
			continue
		}
		if real, err := sandbox.RealPath(path); err == nil && !sandbox.Within(real, dir) {
			return real, nil
		}
	}
	return "", &exec.Error{Name: "bwrap", Err: exec.ErrNotFound}
}

// rootCaps are the capabilities that commands keep if root runs them. Builds need these
// capabilities to change files of other users.
var rootCaps = []string{"CAP_CHOWN", "CAP_DAC_OVERRIDE", "CAP_FOWNER", "CAP_FSETID", "CAP_SETUID", "CAP_SETGID"}

// bwrapArgs returns the arguments with which bubblewrap is started. The data directory is covered last,
// because a later bind mount could make it visible again.
func (l *launch) bwrapArgs() []string {
	args := []string{"--die-with-parent", "--unshare-pid"}
	p := l.policy
	if p.Own {
		args = append(args, ownViewArgs(p)...)
	} else {
		args = append(args, "--ro-bind", "/", "/")
		if l.Mounts {
			args = append(args, "--dev-bind", "/dev", "/dev") // the sandbox child mounts a separate devpts
		} else {
			args = append(args, "--dev", "/dev")
		}
		args = append(args, "--proc", "/proc")
		if l.Net != NetOpen {
			args = append(args, "--unshare-net")
		}
	}
	if os.Geteuid() == 0 {
		// With all its capabilities, root could unmount the mount that covers the data directory.
		args = append(args, "--cap-drop", "ALL")
		for _, name := range rootCaps {
			args = append(args, "--cap-add", name)
		}
	}
	for _, f := range p.Private {
		args = append(args, "--bind", f.Source, f.Path)
	}
	for _, path := range p.Kept {
		args = append(args, "--ro-bind", path, path)
	}
	for _, c := range p.Caches {
		source := c.Empty
		if l.Mounts && !p.Own {
			source = c.Path // the child has mounted the run's folder over c.Path
		}
		args = append(args, "--bind", source, c.Path)
	}
	for _, path := range p.Write {
		args = append(args, "--bind", path, path)
	}
	for _, path := range p.Fixed {
		args = append(args, "--ro-bind", path, path)
	}
	for _, path := range p.Sockets {
		args = append(args, "--ro-bind", "/dev/null", path)
	}
	if !l.Mounts {
		for _, path := range p.Data {
			args = append(args, "--tmpfs", path, "--remount-ro", path)
		}
		for _, path := range p.Secrets {
			if info, err := os.Stat(path); err == nil && info.IsDir() {
				args = append(args, "--tmpfs", path, "--remount-ro", path)
				continue
			}
			args = append(args, "--ro-bind", "/dev/null", path)
		}
	}
	if l.filtered {
		args = append(args, "--seccomp", strconv.Itoa(l.filterFd()))
	}
	return append(args, "--chdir", p.Dir, "--")
}
