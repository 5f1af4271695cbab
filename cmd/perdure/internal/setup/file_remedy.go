package setup

import (
	"errors"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// fileRemedy returns advice for an error of the operating system about a file or folder; "" for
// other errors.
func fileRemedy(err error) string {
	var of *fs.PathError
	if !errors.As(err, &of) {
		return ""
	}
	path, absErr := filepath.Abs(of.Path)
	if absErr != nil {
		path = of.Path
	}
	switch {
	case errors.Is(of.Err, syscall.EROFS):
		return "the file system of " + path + " is read-only; mount it for writing, or use another folder"
	case errors.Is(of.Err, syscall.ENOSPC), errors.Is(of.Err, syscall.EDQUOT):
		return "the disk or the quota of " + path + " is full; free space, or use another folder"
	case errors.Is(of.Err, syscall.ENOTDIR):
		return notFolder(path) + " is a file, so it cannot be used as a folder; name another path"
	case errors.Is(of.Err, fs.ErrPermission):
		return deniedRemedy(denying(path))
	}
	return ""
}

// NewFileError returns the error for a file that cannot be used. `name` is the flag or variable
// that names the file. `advice` is the remedy if fileRemedy returns none.
func NewFileError(name string, err error, advice string) UsageError {
	switch remedy := fileRemedy(err); {
	case remedy != "":
		advice = remedy
	case errors.Is(err, fs.ErrNotExist):
		advice = strings.TrimSuffix("give a file that exists\n"+advice, "\n")
	}
	return NewUsageError(name+": "+err.Error(), advice)
}

// notFolder returns the part of a path that should be a folder but is a file. For example, it
// returns /a/b for the path /a/b/c if /a/b is a file.
func notFolder(path string) string {
	for dir := path; ; dir = filepath.Dir(dir) {
		if info, err := os.Stat(dir); err == nil && !info.IsDir() || dir == filepath.Dir(dir) {
			return dir
		}
	}
}

// denying returns the folder or file in a path whose permissions keep this process from using the
// path.
func denying(path string) string {
	const mayEnter = 1
	var outer []string
	for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
		outer = append(outer, dir)
		if dir == filepath.Dir(dir) {
			break
		}
	}
	for i := len(outer) - 1; i >= 0; i-- {
		if errors.Is(syscall.Access(outer[i], mayEnter), syscall.EACCES) {
			return outer[i]
		}
	}
	for _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) && path != filepath.Dir(path); _, err = os.Lstat(path) {
		path = filepath.Dir(path) // the folder that contains it may not be writable
	}
	return path
}

// deniedRemedy names the owner of a file or folder and the user of this process, and says what to do.
func deniedRemedy(path string) string {
	info, err := os.Stat(path)
	if err != nil {
		return "run the command as a user who may use " + path + ", or name another path"
	}
	text := path + " has the mode " + info.Mode().String()
	owner, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return text + "; change it, or name another path"
	}
	if int(owner.Uid) == os.Geteuid() {
		return text + "; change the mode, or name another path"
	}
	return text + " and belongs to " + userName(int(owner.Uid)) + ", and this process runs as " + userName(os.Geteuid()) +
		"\nrun the command as " + userName(int(owner.Uid)) + ", change the mode, or name another path"
}

// userName returns the name of a user, or the id if it has none.
func userName(id int) string {
	text := strconv.Itoa(id)
	if u, err := user.LookupId(text); err == nil && u.Username != "" {
		return u.Username
	}
	return "the user " + text
}

// isWithin reports whether the two paths are equal, or one of them contains the other.
func isWithin(path, folder string) bool {
	abs, err := filepath.Abs(path)
	if err != nil {
		return false
	}
	for _, pair := range [][2]string{{folder, abs}, {abs, folder}} {
		if rel, err := filepath.Rel(pair[0], pair[1]); err == nil && filepath.IsLocal(rel) {
			return true
		}
	}
	return false
}
