// Package shell finds the shell that runs commands, and builds their environment.
package shell

import (
	"errors"
	"os/exec"
)

// Find returns the path of bash, or of sh if there is no bash.
func Find() (string, error) {
	for _, name := range []string{"bash", "sh"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", errors.New("tool bash: neither bash nor sh is in PATH")
}
