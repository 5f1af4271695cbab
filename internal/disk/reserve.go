package disk

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
)

const (
	reserveMost  = 32 << 20
	reserveLeast = 1 << 20
	// A reserve has the size of the volume divided by reservePart.
	reservePart = 16
	// [Reserve.Floor] is the size of the reserve divided by floorPart. The disk counts as full if
	// less than the floor is free in addition to the reserve.
	floorPart = 8
)

// Reserve is a file that allocates disk space. The space is released when the disk is full, and
// allocated again when there is enough space. A nil Reserve is valid: it has no space, and never
// reports a full disk. Reserve is safe for concurrent use.
type Reserve struct {
	path string
	size int64

	mu   sync.Mutex
	held bool
	free func(folder string) (free, total int64, err error)
}

// NewReserve returns the reserve at path, and does not create its file. The size is a sixteenth of
// the volume, at least 1 MiB and at most 32 MiB. On a system that does not report free space,
// NewReserve returns nil.
func NewReserve(path string) (*Reserve, error) {
	_, total, err := Space(filepath.Dir(path))
	if errors.Is(err, errors.ErrUnsupported) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	_, err = os.Lstat(path)
	return &Reserve{path: path, size: reserveSize(total), held: err == nil, free: Space}, nil
}

func reserveSize(total int64) int64 { return min(reserveMost, max(reserveLeast, total/reservePart)) }

// Size returns the size in bytes of the allocated reserve; 0 for a nil Reserve.
func (r *Reserve) Size() int64 {
	if r == nil {
		return 0
	}
	return r.size
}

// Floor returns the number of bytes that must be free in addition to the reserve.
func (r *Reserve) Floor() int64 { return r.Size() / floorPart }

// Path returns the path of the reserve's file.
func (r *Reserve) Path() string { return r.path }

// Free returns the number of free bytes of the volume. An allocated reserve counts as used.
func (r *Reserve) Free() (int64, error) {
	free, _, err := r.free(filepath.Dir(r.path))
	return free, err
}

// Held reports whether the reserve's space is allocated.
func (r *Reserve) Held() bool {
	if r == nil {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.held
}

// Low reports whether fewer than Floor bytes are free. It returns false if the volume does not
// report its free space.
func (r *Reserve) Low() bool {
	if r == nil {
		return false
	}
	free, err := r.Free()
	return err == nil && free < r.Floor()
}

// Release frees the reserve's space. It reports whether any space was allocated.
func (r *Reserve) Release() bool {
	if r == nil {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	was := r.held
	if remove(r.path) != nil {
		return false
	}
	r.held = false
	return was
}

// errNoRoom means that too little free space would remain after the allocation of the reserve.
var errNoRoom = errors.New("there is no room for the reserve")

// Make allocates the reserve's space. It returns an error if less than twice Floor would remain
// free. It does nothing if the space is allocated already.
func (r *Reserve) Make() error {
	if r == nil || r.Held() {
		return nil
	}
	free, err := r.Free()
	if err != nil {
		return err
	}
	if free < r.size+2*r.Floor() {
		return errNoRoom
	}
	return r.Check()
}

// Check ensures that the reserve's file exists and that all its space is allocated. After a copy of
// the folder, the file may have holes; after a crash, it may be incomplete.
func (r *Reserve) Check() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	f, err := os.OpenFile(r.path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	err = allocate(f, r.size)
	if err == nil {
		err = f.Truncate(r.size)
	}
	if err = errors.Join(err, f.Close()); err != nil {
		r.held = false
		return errors.Join(err, remove(r.path))
	}
	r.held = true
	return nil
}

// writeZeros allocates space by writing, for systems that cannot allocate it directly.
func writeZeros(f *os.File, size int64) error {
	zeros := make([]byte, 1<<20)
	for at := int64(0); at < size; at += int64(len(zeros)) {
		if _, err := f.WriteAt(zeros[:min(int64(len(zeros)), size-at)], at); err != nil {
			return err
		}
	}
	return f.Sync()
}
