package main

import (
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// initialization matches a line of GODEBUG=inittrace=1. Its groups are a package of this module and the
// bytes that the package's initialization allocates.
var initialization = regexp.MustCompile(`^init (github\.com/perdure/perdure\S*) .*, (\d+) bytes, `)

// TestPackagesInitializeLittle checks that no package of this module allocates more than 1 MiB before
// main begins. Every command, also perdure --help, waits for the initialization of all packages.
func TestPackagesInitializeLittle(t *testing.T) {
	const limit = 1 << 20
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(self, "--help")
	c.Args[0] = "perdure"
	c.Env = append(clean(t.TempDir()), "GODEBUG=inittrace=1")
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	packages := 0
	for line := range strings.Lines(string(out)) {
		m := initialization.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		packages++
		if bytes, err := strconv.Atoi(m[2]); err != nil || bytes > limit {
			t.Errorf("the initialization of %s allocates %s bytes, at most %d are allowed", m[1], m[2], limit)
		}
	}
	if packages == 0 {
		t.Errorf("no package of this module was initialized:\n%s", out)
	}
}
