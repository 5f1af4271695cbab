package disk

import (
	"errors"
	"os"
	"syscall"
)

// Space returns the number of bytes of a folder's volume that this user can still use, and the
// volume's total size.
func Space(folder string) (free, total int64, err error) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(folder, &s); err != nil {
		return 0, 0, &os.PathError{Op: "statfs", Path: folder, Err: err}
	}
	return int64(s.Bavail) * s.Bsize, int64(s.Blocks) * s.Bsize, nil
}

func allocate(f *os.File, size int64) error {
	for {
		err := syscall.Fallocate(int(f.Fd()), 0, 0, size)
		switch {
		case errors.Is(err, syscall.EINTR):
		case errors.Is(err, syscall.EOPNOTSUPP) || errors.Is(err, syscall.ENOSYS):
			return writeZeros(f, size)
		default:
			return err
		}
	}
}

// InMemory reports whether a folder is on a file system in memory (tmpfs or ramfs). The files of
// such a file system are lost when the machine restarts, even if they were flushed.
func InMemory(folder string) bool {
	const tmpfs, ramfs = 0x01021994, 0x858458f6 // statfs(2)
	var fs syscall.Statfs_t
	if syscall.Statfs(folder, &fs) != nil {
		return false
	}
	return uint32(fs.Type) == tmpfs || uint32(fs.Type) == ramfs
}
