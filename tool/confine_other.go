//go:build !linux

package tool

import (
	"os/exec"
	"syscall"
)

// selfExe is no program's path here: there are no sandbox children.
const selfExe = ""

// MaybeSandboxChild does nothing on this system, which has no Landlock.
func MaybeSandboxChild() {}

func available(policy) ([]confinement, []string) {
	return nil, []string{"neither Landlock nor bubblewrap exists on this system"}
}

// command makes the command line that runs argv in a session of its own.
func (c confinement) command(argv []string) (*exec.Cmd, error) {
	return &exec.Cmd{Path: argv[0], Args: argv, SysProcAttr: &syscall.SysProcAttr{Setsid: true}}, nil
}
