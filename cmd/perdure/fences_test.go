package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// Flags that limit commands are checked before work begins.
func TestFenceFlagsAreChecked(t *testing.T) {
	for _, args := range [][]string{
		{"--confine", "maybe"}, {"--net", "lan"}, {"--sockets", "all"}, {"--bash-files", "2"}, {"--bash-memory", "1"}, {"--bash-processes", "1"},
	} {
		var s standard
		cmd := &cobra.Command{Use: "x"}
		s.flags(cmd)
		if err := cmd.ParseFlags(args); err != nil {
			t.Fatal(err)
		}
		s.workspace = t.TempDir()
		if err := s.open(); err == nil || !strings.Contains(err.Error(), args[0]) {
			t.Errorf("%v: err = %v", args, err)
		}
	}
}

// The files with secrets are those in the flags and variables of this process.
func TestSecretFilesOfAProcess(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("PERDURE_KEY_FILE", "/etc/perdure/worker.key")
	t.Setenv("PGSSLKEY", "/etc/perdure/pg.key")
	root := (&app{stdin: os.Stdin, stdout: newScreen(os.Stdout), stderr: newScreen(os.Stderr)}).root()
	for _, c := range []struct{ args, want []string }{
		{[]string{"worker", "--tls-key", "/etc/perdure/client.key"}, []string{"/etc/perdure/client.key"}},
		{[]string{"server", "--nats-creds", "/etc/perdure/nats", "--tls-key", "/etc/perdure/tls.key", "--store", "postgres://h/d?sslkey=/etc/perdure/url.key"}, []string{"/etc/perdure/nats", "/etc/perdure/tls.key", "/etc/perdure/url.key"}},
	} {
		cmd, rest, err := root.Find(c.args)
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.ParseFlags(rest); err != nil {
			t.Fatal(err)
		}
		got := secretFiles(cmd.Flags())
		for _, want := range append(c.want, "/etc/perdure/worker.key", "/etc/perdure/pg.key", filepath.Join(home, ".pgpass")) {
			if !slices.Contains(got, want) {
				t.Errorf("%v: %s is missing in %v", c.args, want, got)
			}
		}
	}
}

// Secrets on a command line are found in both forms of a flag.
func TestSecretsOfACommandLineAreFound(t *testing.T) {
	args := []string{"perdure", "worker", "--key", "s1", "--key=s2", "--store=postgres://u:p@h/d", "--nats", "nats://u:p@h", "--queue", "--keys", "x"}
	want := map[int]string{3: "s1", 4: "s2", 5: "postgres://u:p@h/d", 7: "nats://u:p@h"}
	got := secretParts(args)
	if len(got) != len(want) {
		t.Errorf("got %v", got)
	}
	for i, secret := range want {
		if got[i] != secret {
			t.Errorf("argument %d: %q, want %q", i, got[i], secret)
		}
	}
}
