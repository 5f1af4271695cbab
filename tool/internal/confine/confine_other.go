//go:build !linux

package confine

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"

	"github.com/perdure/perdure/tool/internal/group"
)

// selfExe is "" because this system has no sandbox children (see Confinement.Child).
const selfExe = ""

// Available returns no confinements, and the reason why there are none on this system.
func Available(Confinement) ([]Confinement, []string) {
	return nil, []string{"neither Landlock nor bubblewrap exists on this system"}
}

// launch is one command that is about to run.
type launch struct {
	Confinement
	shared []*os.File
}

func (c Confinement) launch() (*launch, error) {
	if c.Net != NetOpen && c.Refusal == "" {
		c.Refusal = c.Net.refused("Linux")
	}
	if c.Refusal != "" {
		return nil, errors.New("tool bash: " + c.Refusal)
	}
	return &launch{Confinement: c}, nil
}

func (*launch) environ(env []string) []string { return env }

func (*launch) end() {}

func (*launch) close() {}

func (*launch) boundBy() string { return boundByNothing }

func (*launch) startError(err error) error { return fmt.Errorf("tool bash: start: %w", err) }

func (*launch) group(pid int) *group.Group { return group.New(pid) }

// command returns the exec.Cmd that runs argv in a separate session.
func (*launch) command(argv []string) (*exec.Cmd, error) {
	return &exec.Cmd{Path: argv[0], Args: argv, SysProcAttr: &syscall.SysProcAttr{Setsid: true}}, nil
}
