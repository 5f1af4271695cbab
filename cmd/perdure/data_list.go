package main

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/perdure/perdure/internal/disk"
)

// dataListMost is the maximum number of data directories of one user that are read.
const dataListMost = 256

// systemData is the data directory of the packaged services.
const systemData = "/var/lib/perdure"

// dataList returns the directory that lists this user's data directories, one file each. Tools may
// not access any of them, because each directory holds the token of its server. It returns "" if
// the user has no home directory.
func dataList() string {
	if base := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(base) {
		return filepath.Join(base, "perdure", "data-directories")
	}
	home, err := os.UserHomeDir()
	if err != nil || !filepath.IsAbs(home) {
		return ""
	}
	return filepath.Join(home, ".local", "state", "perdure", "data-directories")
}

// listData adds data to the list. If the list cannot be written, as in a container with a read-only
// root, serving continues. Other processes then know data only if it is the default.
func listData(data string) {
	list, real := dataList(), data
	if resolved, err := filepath.EvalSymlinks(data); err == nil {
		real = resolved
	}
	if list == "" || !filepath.IsAbs(real) {
		return
	}
	sum := sha256.Sum256([]byte(real))
	entry := filepath.Join(list, hex.EncodeToString(sum[:]))
	if listed, err := os.ReadFile(entry); err == nil && string(listed) == real {
		return
	}
	if os.MkdirAll(list, 0o700) == nil {
		_ = disk.WriteFile(entry, []byte(real))
	}
}

// otherData returns the list itself and this user's data directories other than data. Some of them
// may no longer exist.
func otherData(data string) []string {
	paths := []string{systemData}
	if home, err := os.UserHomeDir(); err == nil {
		paths = append(paths, defaultData(home))
	}
	list := dataList()
	if list != "" {
		paths = append(paths, list)
	}
	paths = append(paths, listedData(list)...)
	own, err := os.Stat(data)
	if err != nil {
		return paths
	}
	others := paths[:0]
	for _, path := range paths {
		if info, err := os.Stat(path); err == nil && !os.SameFile(info, own) && !slices.Contains(others, path) {
			others = append(others, path)
		}
	}
	return others
}

// listedData reads the list, and removes entries that no longer exist.
func listedData(list string) []string {
	folder, err := os.Open(list)
	if err != nil {
		return nil
	}
	defer folder.Close()
	names, _ := folder.Readdirnames(dataListMost)
	var paths []string
	for _, name := range names {
		entry := filepath.Join(list, name)
		raw, err := os.ReadFile(entry)
		if err != nil || !filepath.IsAbs(string(raw)) {
			continue
		}
		if _, err := os.Stat(string(raw)); errors.Is(err, fs.ErrNotExist) {
			_ = os.Remove(entry) // a directory that is used again is added again
			continue
		}
		paths = append(paths, string(raw))
	}
	return paths
}
