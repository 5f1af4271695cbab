package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/perdure/perdure/cmd/perdure/internal/setup"
	"github.com/perdure/perdure/internal/longtest"
)

// contentOf returns the contents of the files in a folder. It leaves out empty files.
func contentOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		content, err := os.ReadFile(path)
		if len(content) > 0 {
			all[path] = string(content)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestReadOnlyCommandsWriteNothing checks that read-only commands change no file while no server is
// running. This holds after a kill, which leaves the store's write-ahead log, and after a clean end.
func TestReadOnlyCommandsWriteNothing(t *testing.T) {
	longtest.Skip(t, "seconds")
	for name, end := range map[string]syscall.Signal{"killed": syscall.SIGKILL, "interrupted": syscall.SIGINT} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, dir, "s", waiting)
			gate(t, dir, "gate")
			p := launch(t, dir, "run", "--model", "scripted/s", "--local", "go through the gate")
			id := idIn(t, p.until("run "))
			p.until("│ here")
			p.signal(end)
			p.end()
			data := filepath.Join(dir, "d")
			before := contentOf(t, data)
			for _, command := range []struct {
				args, shows string
				code        int
			}{
				{"runs", id, setup.ExitOK},
				{"show last", "At the gate.", setup.ExitOK}, // which is in the worker's own store
				{"show " + id + " --json", "go through the gate", setup.ExitOK},
				{"tail last", "resume " + id, setup.ExitWaiting},
				{"audit", "", setup.ExitOK},
				{"keys list", "", setup.ExitOK},
				{"orgs list", "default", setup.ExitOK},
				{"definitions list", "", setup.ExitOK},
				{"retention", "", setup.ExitOK},
			} {
				launch(t, dir, strings.Fields(command.args)...).wantEnd(command.code, command.shows)
				after := contentOf(t, data)
				for path, content := range after {
					if before[path] != content {
						t.Errorf("%s writes %s", command.args, path)
					}
				}
				if len(after) != len(before) {
					t.Errorf("%s leaves %d files of %d", command.args, len(after), len(before))
				}
			}
			launch(t, dir, "resume", "last").wantEnd(0, "It was interrupted.")
		})
	}
}
