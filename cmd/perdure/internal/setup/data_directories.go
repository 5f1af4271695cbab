package setup

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

// DataDir returns the data directory of this user.
func (a *App) DataDir() (string, error) {
	dir := a.data
	if dir == "" {
		home, err := os.UserHomeDir()
		if err != nil && os.Getenv("XDG_DATA_HOME") == "" {
			return "", NewUsageError("there is no home directory to keep runs in", "give a data directory with --data DIR or PERDURE_DATA")
		}
		dir = defaultDataDir(home)
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", NewUsageError("the data directory "+dir+" cannot be used: "+err.Error(), "")
	}
	return abs, nil
}

func defaultDataDir(home string) string {
	if base := os.Getenv("XDG_DATA_HOME"); filepath.IsAbs(base) {
		return filepath.Join(base, "perdure")
	}
	return filepath.Join(home, ".local", "share", "perdure")
}

// maxDataDirs is the maximum number of data directories of one user that are read.
const maxDataDirs = 256

// systemDataDir is the data directory of the packaged services.
const systemDataDir = "/var/lib/perdure"

// dataDirList returns the directory that lists this user's data directories, one file each. Tools
// may not access these data directories, because each holds the token of its server. It returns ""
// if the user has no home directory.
func dataDirList() string {
	if base := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(base) {
		return filepath.Join(base, "perdure", "data-directories")
	}
	home, err := os.UserHomeDir()
	if err != nil || !filepath.IsAbs(home) {
		return ""
	}
	return filepath.Join(home, ".local", "state", "perdure", "data-directories")
}

// ListDataDir adds the data directory to the list of this user's data directories. It ignores
// errors, because serving works without the list, as in a container with a read-only root. If the
// directory is not in the list, other processes find it only if it is the default data directory.
func ListDataDir(data string) {
	list, real := dataDirList(), data
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

// OtherDataDirs returns the directories that tools may not access: this user's data directories
// other than `data`, and the directory that lists them. Some of them may no longer exist.
func OtherDataDirs(data string) []string {
	paths := []string{systemDataDir}
	if home, err := os.UserHomeDir(); err == nil {
		paths = append(paths, defaultDataDir(home))
	}
	list := dataDirList()
	if list != "" {
		paths = append(paths, list)
	}
	paths = append(paths, listedDataDirs(list)...)
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

// listedDataDirs returns the directories in the list. It removes directories that no longer exist
// from the list.
func listedDataDirs(list string) []string {
	folder, err := os.Open(list)
	if err != nil {
		return nil
	}
	defer folder.Close()
	names, _ := folder.Readdirnames(maxDataDirs)
	var paths []string
	for _, name := range names {
		entry := filepath.Join(list, name)
		raw, err := os.ReadFile(entry)
		if err != nil || !filepath.IsAbs(string(raw)) {
			continue
		}
		if _, err := os.Stat(string(raw)); errors.Is(err, fs.ErrNotExist) {
			_ = os.Remove(entry) // a server that uses the directory again adds it again
			continue
		}
		paths = append(paths, string(raw))
	}
	return paths
}
