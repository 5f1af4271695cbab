package e2e

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// disk is a small separate volume: a tmpfs in a mount namespace. Root creates the namespace directly,
// and other users create it in a user namespace. The disk exists as long as its holder process runs.
type disk struct {
	t      *testing.T
	dir    string // mount point inside the namespace
	holder *process
}

func newDisk(t *testing.T, dir string, bytes int) *disk {
	t.Helper()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	apart := []string{"unshare", "--mount"}
	if os.Getuid() != 0 {
		apart = append(apart, "--user", "--map-root-user")
	}
	mount := fmt.Sprintf("mount -t tmpfs -o size=%d,mode=700 tmpfs '%s' && echo mounted && exec sleep infinity", bytes, dir)
	d := &disk{t: t, dir: dir, holder: launch(t, command{name: "disk", argv: append(apart, "sh", "-c", mount), env: environment(dir)})}
	d.holder.says("mounted")
	return d
}

// enter returns the beginning of a command line; the program that follows runs inside the disk's
// namespace.
func (d *disk) enter() []string {
	enter := []string{"nsenter", "--target", fmt.Sprint(d.holder.cmd.Process.Pid), "--mount"}
	if os.Getuid() != 0 {
		enter = append(enter, "--user", "--preserve-credentials")
	}
	return enter
}

// outside returns the path by which programs outside the namespace reach a file on the disk.
func (d *disk) outside(name string) string {
	return filepath.Join("/proc", fmt.Sprint(d.holder.cmd.Process.Pid), "root", d.dir, name)
}

// copied copies a database from the disk and returns the copy's path. SQLite cannot open the path
// that the method `outside` returns, because SQLite resolves the symbolic links in a path itself.
func (d *disk) copied(name string) string {
	d.t.Helper()
	to := d.t.TempDir()
	for _, file := range []string{name, name + "-wal"} {
		content, err := os.ReadFile(d.outside(file))
		if errors.Is(err, fs.ErrNotExist) && file != name {
			continue // the log was checkpointed
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(to, file), content, 0o600)
		}
		if err != nil {
			d.t.Fatal(err)
		}
	}
	return filepath.Join(to, name)
}

// fill uses all free space of the disk.
func (d *disk) fill() {
	d.t.Helper()
	file, err := os.Create(d.outside("filler"))
	if err != nil {
		d.t.Fatal(err)
	}
	defer file.Close()
	if _, err := io.Copy(file, zeroReader{}); !errors.Is(err, syscall.ENOSPC) {
		d.t.Fatalf("the disk is not full: %v", err)
	}
}

// free releases the space.
func (d *disk) free() {
	d.t.Helper()
	if err := os.Remove(d.outside("filler")); err != nil {
		d.t.Fatal(err)
	}
}

// zeroReader is an endless reader of zeros.
type zeroReader struct{}

// Read implements io.Reader.
func (zeroReader) Read(b []byte) (int, error) {
	clear(b)
	return len(b), nil
}
