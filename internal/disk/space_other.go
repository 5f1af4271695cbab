//go:build !linux

package disk

import (
	"errors"
	"os"
)

// Space returns an error: this system is not asked for its free space.
func Space(string) (free, total int64, err error) { return 0, 0, errors.ErrUnsupported }

func allocate(f *os.File, size int64) error { return writeZeros(f, size) }

// InMemory reports whether a folder is in memory; it is not known here.
func InMemory(string) bool { return false }
