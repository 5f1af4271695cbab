package disk

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestFilesAreReplacedWhole checks that a file is replaced by a new one and never modified. A
// concurrent reader sees the complete old content, and a failed write leaves the old file.
func TestFilesAreReplacedWhole(t *testing.T) {
	path := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(path+".new", []byte("left by a crash"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := WriteFile(path, []byte("one")); err != nil {
		t.Fatal(err)
	}
	reader, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	if err := WriteFile(path, []byte("two")); err != nil {
		t.Fatal(err)
	}
	old := make([]byte, 16)
	if n, err := reader.Read(old); string(old[:n]) != "one" || err != nil {
		t.Errorf("who has it open reads %q, %v", old[:n], err)
	}
	if got, err := os.ReadFile(path); string(got) != "two" || err != nil {
		t.Errorf("it holds %q, %v", got, err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("its mode is %v, %v", info.Mode(), err)
	}
	if _, err := os.Lstat(path + ".new"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("something is left: %v", err)
	}
}

// TestSmallFilesAreWrittenByOneFunction checks that the code of the product calls disk.WriteFile
// instead of os.WriteFile.
func TestSmallFilesAreWrittenByOneFunction(t *testing.T) {
	// tool/record.go writes the record of a tool's process group. The record need not be durable,
	// because the group does not survive a power loss. The other exceptions are tests and tools for
	// development.
	allowed := []string{"tool/record.go", "agent/agenttest/", "e2e/", "internal/bench/", "internal/log/logtest/", "internal/store/postgres/cluster/", "internal/store/sqlite/sqlitetest/", "internal/disktest/"}
	root := filepath.Join("..", "..")
	seen := 0
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && d.Name() == "node_modules" {
			return fs.SkipDir
		}
		name, _ := filepath.Rel(root, path)
		if d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		seen++
		for _, prefix := range allowed {
			if strings.HasPrefix(filepath.ToSlash(name), prefix) {
				return nil
			}
		}
		code, err := os.ReadFile(path)
		if strings.Contains(string(code), "os.WriteFile(") {
			t.Errorf("%s calls os.WriteFile; call disk.WriteFile", name)
		}
		return err
	})
	if err != nil || seen < 100 {
		t.Errorf("%d files were read, %v", seen, err)
	}
}

// TestAReserveTakesRoomAndGivesItAway checks that a reserve allocates its space, releases it, and
// allocates it again only if enough space remains.
func TestAReserveTakesRoomAndGivesItAway(t *testing.T) {
	path := filepath.Join(t.TempDir(), "reserve")
	free := int64(0)
	r := &Reserve{path: path, size: reserveSize(24 << 20), free: func(string) (int64, int64, error) { return free, 24 << 20, nil }}
	if r.Size() != 24<<20/16 {
		t.Errorf("it has %d bytes", r.Size())
	}
	for _, c := range []struct {
		free      int64
		made, low bool
	}{
		{0, false, true}, {r.Size(), false, false}, {r.Size() + 2*r.Floor() - 1, false, false}, {r.Size() + 2*r.Floor(), true, false},
	} {
		free = c.free
		if err := r.Make(); (err == nil) != c.made || r.Held() != c.made || r.Low() != c.low {
			t.Errorf("with %d bytes free: %v, held %v, low %v", c.free, err, r.Held(), r.Low())
		}
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if taken := info.Sys().(*syscall.Stat_t).Blocks * 512; info.Size() != r.Size() || taken < r.Size() {
		t.Errorf("the file has %d bytes and takes up %d, want %d", info.Size(), taken, r.Size())
	}
	if !r.Release() || r.Release() || r.Held() {
		t.Error("it is not given away once")
	}
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the file is there: %v", err)
	}
	var none *Reserve
	if none.Make() != nil || none.Release() || none.Held() || none.Low() || none.Size() != 0 {
		t.Error("no reserve holds something")
	}
}
