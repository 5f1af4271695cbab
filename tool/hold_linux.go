package tool

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"github.com/perdure/perdure/internal/sandbox"
	"golang.org/x/sys/unix"
)

// held is a folder or file that a descriptor refers to. The descriptor still refers to it after a
// rename.
type held struct {
	file *os.File
	id   identity
}

func openHeld(path string) (*held, error) { return openIdentified(path, unix.O_DIRECTORY) }

// openHeldFile opens a file or a folder. openHeld accepts only a folder.
func openHeldFile(path string) (*held, error) { return openIdentified(path, 0) }

func openIdentified(path string, flags int) (*held, error) {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC|flags, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	id, err := sandbox.IdentityOf(fd)
	if err != nil {
		unix.Close(fd)
		return nil, err
	}
	return &held{file: os.NewFile(uintptr(fd), path), id: id}, nil
}

func (h *held) close() { h.file.Close() }

func (h *held) same(other *held) bool { return h.id == other.id }

// is reports whether f is the held file, under any name.
func (h *held) is(f *os.File) bool {
	info, err := f.Stat()
	if err != nil {
		return false
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && identity{Dev: uint64(st.Dev), Ino: st.Ino} == h.id
}

// folder reports whether h is a folder.
func (h *held) folder() bool {
	var st unix.Stat_t
	return unix.Fstat(int(h.file.Fd()), &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFDIR
}

func (h *held) deleted() bool {
	var st unix.Stat_t
	return unix.Fstat(int(h.file.Fd()), &st) != nil || st.Nlink == 0
}

// path returns the folder's current path.
func (h *held) path() (string, error) { return sandbox.PathOf(int(h.file.Fd()), h.id) }

// views returns all current paths of the folder: first the folder's own path, then the paths
// through other mounts of the folder, of a folder above it, or of a folder in it.
func (h *held) views() ([]string, error) {
	path, err := h.path()
	if err != nil {
		return nil, err
	}
	others, err := sandbox.OtherViews(path, h.id)
	if err != nil {
		return nil, fmt.Errorf("mounts: %w", err)
	}
	return append([]string{path}, others...), nil
}

// holds reports whether f lies in the folder. It compares the folders above f by identity, so a
// rename or another mount of the folder does not change the result.
func (h *held) holds(f *os.File) (bool, error) {
	for range 100 {
		path, err := openedPath(f)
		if err != nil {
			return false, err
		}
		if h.above(path) {
			return true, nil
		}
		if again, err := openedPath(f); err == nil && again == path {
			return false, nil
		}
	}
	return false, errors.New("its folder keeps moving")
}

func (h *held) above(path string) bool {
	for {
		if at, err := sandbox.IdentityAt(path); err == nil && at == h.id {
			return true
		}
		parent := filepath.Dir(path)
		if parent == path {
			return false
		}
		path = parent
	}
}

// identity returns the identity of h, or zero if h is nil.
func (h *held) identity() identity {
	if h == nil {
		return identity{}
	}
	return h.id
}
