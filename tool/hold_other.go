//go:build !linux

package tool

import "os"

// held is the path of a folder or file. This system has no descriptors of paths, and commands are
// not confined.
type held struct{ at string }

func openHeld(path string) (*held, error) {
	real, err := realPath(path)
	return &held{real}, err
}

func openHeldFile(path string) (*held, error) { return openHeld(path) }

func (h *held) close() {}

func (h *held) same(other *held) bool { return h.at == other.at }

// is reports whether f was opened at the file's path.
func (h *held) is(f *os.File) bool {
	path, err := openedPath(f)
	return err == nil && within(path, h.at)
}

// folder reports whether h is a folder.
func (h *held) folder() bool {
	info, err := os.Stat(h.at)
	return err == nil && info.IsDir()
}

func (h *held) deleted() bool { return false }

func (h *held) path() (string, error) { return h.at, nil }

func (h *held) views() ([]string, error) { return []string{h.at}, nil }

func (h *held) holds(f *os.File) (bool, error) {
	path, err := openedPath(f)
	return err == nil && within(path, h.at), err
}

// identity returns zero, because this system does not identify folders.
func (h *held) identity() identity { return identity{} }
