package main

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/perdure/perdure/cmd/perdure/internal/setup"
	"github.com/perdure/perdure/cmd/perdure/internal/terminal"
)

// TestSecretFilesOfAProcess checks which files SecretFiles returns: the files with secrets that are
// named in flags, in environment variables and in the URL of a store, and the default password file
// of PostgreSQL.
func TestSecretFilesOfAProcess(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("PERDURE_KEY_FILE", "/etc/perdure/worker.key")
	t.Setenv("PGSSLKEY", "/etc/perdure/pg.key")
	root := newRootCommand((&setup.App{Streams: terminal.Streams{Stdin: os.Stdin, Stdout: terminal.NewScreen(os.Stdout), Stderr: terminal.NewScreen(os.Stderr)}}))
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
		got := setup.SecretFiles(cmd.Flags())
		for _, want := range append(c.want, "/etc/perdure/worker.key", "/etc/perdure/pg.key", filepath.Join(home, ".pgpass")) {
			if !slices.Contains(got, want) {
				t.Errorf("%v: %s is missing in %v", c.args, want, got)
			}
		}
	}
}
