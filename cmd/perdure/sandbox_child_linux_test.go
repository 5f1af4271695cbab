package main

import (
	"bytes"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/perdure/perdure/internal/sandbox"
)

// TestSandboxChildrenComeBeforeLargePackages checks that a sandbox child ends before expensive packages
// are initialized. Every command of the bash tool starts this program again as such a child. The
// initialization of those packages would take longer than most commands.
func TestSandboxChildrenComeBeforeLargePackages(t *testing.T) {
	large := []string{"github.com/pressly/goose/v3", "github.com/santhosh-tekuri/jsonschema/v6", "google.golang.org/grpc"}
	child := initialized(t, sandbox.Mark, "{", "true")
	all := initialized(t, "-test.run", "^$")
	for _, name := range large {
		if strings.Contains(child, "init "+name+" ") {
			t.Errorf("%s is initialized first", name)
		}
		if !strings.Contains(all, "init "+name+" ") {
			t.Errorf("%s is not a part of this program", name)
		}
	}
}

// initialized starts this program with the arguments, and returns the runtime's list of the packages
// that it initializes.
func initialized(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.Command(os.Args[0], args...)
	var trace bytes.Buffer
	cmd.Env, cmd.Stderr = append(os.Environ(), "GODEBUG=inittrace=1"), &trace
	_ = cmd.Run() // a sandbox child without valid instructions fails
	if !strings.Contains(trace.String(), "init internal/godebug ") {
		t.Errorf("%v: %s", args, trace.String())
	}
	return trace.String()
}
