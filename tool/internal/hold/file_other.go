//go:build !linux

package hold

import (
	"os"
	"path/filepath"

	"github.com/perdure/perdure/internal/sandbox"
)

// File is the path of a folder or file. On this system no descriptor is kept open, and commands are
// not confined.
type File struct{ at string }

func openFolder(path string) (*File, error) {
	real, err := sandbox.RealPath(path)
	return &File{real}, err
}

func openFile(path string) (*File, error) { return openFolder(path) }

func (h *File) close() {}

// Same reports whether h and `other` have the same path.
func (h *File) Same(other *File) bool { return h.at == other.at }

// Is reports whether f was opened at the path of h.
func (h *File) Is(f *os.File) bool {
	path, err := OpenedPath(f)
	return err == nil && sandbox.Within(path, h.at)
}

// Folder reports whether h is a folder.
func (h *File) Folder() bool {
	info, err := os.Stat(h.at)
	return err == nil && info.IsDir()
}

// Deleted returns false, because this system does not keep deleted files open.
func (h *File) Deleted() bool { return false }

// Path returns the path of the file or folder.
func (h *File) Path() (string, error) { return h.at, nil }

// Views returns the only path of the folder that is known on this system.
func (h *File) Views() ([]string, error) { return []string{h.at}, nil }

// Holds reports whether the path of f lies in the folder h.
func (h *File) Holds(f *os.File) (bool, error) {
	path, err := OpenedPath(f)
	return err == nil && sandbox.Within(path, h.at), err
}

// Identity returns the zero Identity, because this system does not identify folders.
func (h *File) Identity() sandbox.Identity { return sandbox.Identity{} }

// OpenedPath returns the path at which an open file was opened, with symlinks resolved.
func OpenedPath(f *os.File) (string, error) { return filepath.EvalSymlinks(f.Name()) }
