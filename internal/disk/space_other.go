//go:build !linux

package disk

import (
	"errors"
	"os"
)

// Space returns errors.ErrUnsupported on this system.
func Space(string) (free, total int64, err error) { return 0, 0, errors.ErrUnsupported }

func allocate(f *os.File, size int64) error { return writeZeros(f, size) }

// InMemory returns false, because this system does not report whether a file system is in memory.
func InMemory(string) bool { return false }
