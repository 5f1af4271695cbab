package sandbox

import (
	"os"
	"path/filepath"
)

// PrivatePaths are the folders for temporary files and sockets that all programs of the system share. A
// command gets private folders in their place.
var PrivatePaths = []string{"/tmp", "/var/tmp", "/run", "/dev/shm"}

// RealPath returns path as an absolute path without symlinks.
func RealPath(path string) (string, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(abs)
}

// Within reports whether path is dir or lies below it. Both must be absolute and clean.
func Within(path, dir string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}

// SomeEntries returns at most n entries of a folder; none if the folder cannot be read.
func SomeEntries(folder string, n int) []os.DirEntry {
	f, err := os.Open(folder)
	if err != nil || n <= 0 {
		return nil
	}
	defer f.Close()
	entries, _ := f.ReadDir(n)
	return entries
}
