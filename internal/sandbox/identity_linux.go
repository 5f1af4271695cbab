package sandbox

import (
	"errors"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// IdentityOf is the identity of what fd refers to.
func IdentityOf(fd int) (Identity, error) {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return Identity{}, err
	}
	return Identity{uint64(st.Dev), st.Ino}, nil
}

// PathOf is the path of the folder id, which fd refers to. A folder that moves
// meanwhile is looked for again.
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

// IdentityAt is the identity of what path names, without following a link in its
// last element.
func IdentityAt(path string) (Identity, error) {
	var st unix.Stat_t
	if err := unix.Lstat(path, &st); err != nil {
		return Identity{}, err
	}
	return Identity{uint64(st.Dev), st.Ino}, nil
}
