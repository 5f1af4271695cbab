package sandbox

import (
	"errors"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// IdentityOf returns the identity of the file or folder that fd refers to.
func IdentityOf(fd int) (Identity, error) {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return Identity{}, err
	}
	return Identity{uint64(st.Dev), st.Ino}, nil
}

// PathOf returns the path of the folder to which fd refers and whose identity is id. It tries again
// if the folder moves in the meantime.
func PathOf(fd int, id Identity) (string, error) {
	for range 100 {
		path, err := os.Readlink("/proc/self/fd/" + strconv.Itoa(fd))
		if err != nil {
			return "", err
		}
		if at, err := IdentityAt(path); err == nil && at == id {
			return path, nil
		}
	}
	return "", errors.New("the data directory has no path here: it was deleted, moved out of sight, or keeps moving")
}

// IdentityAt returns the identity of the file or folder at path. It does not follow a symlink in
// the last element.
func IdentityAt(path string) (Identity, error) {
	var st unix.Stat_t
	if err := unix.Lstat(path, &st); err != nil {
		return Identity{}, err
	}
	return Identity{uint64(st.Dev), st.Ino}, nil
}
