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
	// reservePart is which part of a volume its reserve may be.
	reservePart = 16
	// floorPart is which part of the reserve must be free beside it: below that the
	// disk counts as full.
	floorPart = 8
)

// Reserve is a file that takes up room so that there is room left when the disk is
// full. It is released then, and made again when there is room for it and more. A
// nil Reserve holds nothing, and no disk counts as full. It is safe for concurrent use.
type Reserve struct {
	path string
	size int64

	mu   sync.Mutex
	held bool
	free func(folder string) (free, total int64, err error)
}

// NewReserve returns the reserve at path, sized for the volume: one part in 16 of it,
// at least 1 MiB and at most 32 MiB. It makes no file yet.
// A system that does not say what is free has no reserve: nil.
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

// Size returns how many bytes the reserve takes up while it is held, 0 for none.
func (r *Reserve) Size() int64 {
	if r == nil {
		return 0
	}
	return r.size
}

// Floor returns how many bytes must be free beside the reserve.
func (r *Reserve) Floor() int64 { return r.Size() / floorPart }

// Path returns the name of the reserve's file.
func (r *Reserve) Path() string { return r.path }

// Free returns how many bytes of the volume are free, those of the reserve not
// among them.
func (r *Reserve) Free() (int64, error) {
	free, _, err := r.free(filepath.Dir(r.path))
	return free, err
}

// Held reports whether the reserve's room is taken.
func (r *Reserve) Held() bool {
	if r == nil {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.held
}

// Low reports whether less than the floor is free. A volume that does not say
// what is free does not count as full.
func (r *Reserve) Low() bool {
	if r == nil {
		return false
	}
	free, err := r.Free()
	return err == nil && free < r.Floor()
}

// Release returns the reserve's room away. It reports whether there was any.
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

// errNoRoom says that the reserve would leave too little beside it.
var errNoRoom = errors.New("there is no room for the reserve")

// Make takes the reserve's room, unless less than twice the floor would be left. It
// does nothing where the room is taken already.
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

// Check sees to it that the file of the reserve is there and takes up all its room:
// a copy may have left holes, and a crash a part.
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

// writeZeros takes room where the system cannot do so by itself.
func writeZeros(f *os.File, size int64) error {
	zeros := make([]byte, 1<<20)
	for at := int64(0); at < size; at += int64(len(zeros)) {
		if _, err := f.WriteAt(zeros[:min(int64(len(zeros)), size-at)], at); err != nil {
			return err
		}
	}
	return f.Sync()
}
