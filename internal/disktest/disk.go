// Package disktest provides a disk below SQLite that can lose power. Reads use the files themselves,
// as from the page cache. For each page, the package tracks the content that a power failure would
// leave. A failed sync does what the kernel does: it marks the pages as clean. No later sync writes
// these pages, so their content is readable until power is lost.
package disktest

import (
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	lib "modernc.org/sqlite/lib"
)

const pageSize = 4096

// Kind is the kind of an operation of SQLite on a file.
type Kind string

// These are the kinds of operations.
const (
	Write    Kind = "write"
	Sync     Kind = "sync"
	Truncate Kind = "truncate"
	Delete   Kind = "delete"
)

// Op is a file operation that SQLite is about to do.
type Op struct {
	Kind Kind
	// File is the name of the file in the disk's directory.
	File string

	disk *Disk
}

// Disk tracks the files of one directory. Only SQLite may create databases, journals and logs in
// it. All other files count as durable.
type Disk struct {
	folder string
	stall  atomic.Pointer[stall]

	mu     sync.Mutex
	files  map[string]*file
	before func(op Op) (code int32)
}

// file is the state of one file.
type file struct {
	durable []byte         // the content that a power failure leaves
	dirty   map[int64]bool // numbers of the pages written since the last sync
	cut     bool           // the file was truncated since the last sync
	gone    bool           // the file was deleted; the deletion may not be durable yet
	errors  int            // number of failed syncs, each of which is reported once to each handle
}

// New tracks a directory until the test ends. Only one disk can be tracked at a time; a second call
// fails the test.
func New(t *testing.T, folder string) *Disk {
	t.Helper()
	real, err := filepath.EvalSymlinks(folder)
	if err != nil {
		t.Fatal(err)
	}
	d := &Disk{folder: real, files: map[string]*file{}}
	between(t)
	if !watched.CompareAndSwap(nil, d) {
		t.Fatal("another disk is watched")
	}
	t.Cleanup(func() { watched.Store(nil) })
	return d
}

// Before sets a function that is called before each operation. If f returns a code other than 0, the
// operation fails with that code. A failed sync marks the pages as clean (see the package comment).
// All other failed operations have no effect. The function f may call op.Image, but no method of the
// disk.
func (d *Disk) Before(f func(op Op) (code int32)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.before = f
}

// stall is a pause of the writes to one file.
type stall struct {
	file    string
	once    sync.Once
	reached chan struct{}
	on      chan struct{}
}

// StallAfterWrite pauses the next write to a file, once its content is written. The channel
// `reached` is closed when the pause begins, and the function goOn ends the pause. Other operations
// are not affected.
func (d *Disk) StallAfterWrite(file string) (reached <-chan struct{}, goOn func()) {
	s := &stall{file: file, reached: make(chan struct{}), on: make(chan struct{})}
	d.stall.Store(s)
	return s.reached, sync.OnceFunc(func() { close(s.on) })
}

func (d *Disk) pause(file string) {
	if s := d.stall.Load(); s != nil && s.file == file {
		s.once.Do(func() {
			close(s.reached)
			<-s.on
		})
	}
}

// name returns the file's name in the directory. The result is false for a file outside the
// directory, and for the shared memory file, which SQLite builds again at each start.
func (d *Disk) name(path string) (string, bool) {
	name, ok := strings.CutPrefix(path, d.folder+string(filepath.Separator))
	return name, ok && !strings.HasSuffix(name, "-shm")
}

// opened returns the state of a file. The content at the first call counts as durable.
func (d *Disk) opened(name string) *file {
	f := d.files[name]
	if f == nil {
		content, _ := os.ReadFile(filepath.Join(d.folder, name)) // the file may not exist
		f = &file{durable: content, dirty: map[int64]bool{}}
		d.files[name] = f
	}
	return f
}

func (d *Disk) about(kind Kind, name string) (code int32) {
	if d.before == nil {
		return lib.SQLITE_OK
	}
	return d.before(Op{Kind: kind, File: name, disk: d})
}

func (f *file) wrote(offset int64, n int) {
	for page := offset / pageSize; page <= (offset+int64(n)-1)/pageSize; page++ {
		f.dirty[page] = true
	}
}

// synced marks the file's content as durable, except for pages that an earlier failed sync marked
// as clean.
func (f *file) synced(content []byte) {
	f.durable = f.with(content, func(int64) bool { return true })
	clear(f.dirty)
	f.cut = false
}

// namesSynced makes deletions of files durable.
func (d *Disk) namesSynced() {
	for _, f := range d.files {
		if f.gone {
			f.durable = nil
		}
	}
}

// with returns the file's durable content, with some of the dirty pages replaced by the current
// content: those for which the function `written` returns true. The parameter `content` is the
// current content.
func (f *file) with(content []byte, written func(page int64) bool) []byte {
	all := make([]byte, len(content))
	copy(all, f.durable)
	for page := range f.dirty {
		if from, to := page*pageSize, min((page+1)*pageSize, int64(len(content))); from < to && written(page) {
			copy(all[from:to], content[from:to])
		}
	}
	return all
}

// failed applies a failed sync: it marks all dirty pages as clean and counts the sync.
func (f *file) failed() {
	clear(f.dirty)
	f.errors++
}

// Loss selects the dirty pages that a power failure leaves on the disk.
type Loss int

// These are the possible losses.
const (
	All   Loss = iota // no dirty page was written
	Some              // some dirty pages were written, others were not
	Ahead             // all dirty pages were written
)

// Image copies the files to another directory, with the content that they would have if the power
// failed before the operation.
func (o Op) Image(to string, loss Loss, r *rand.Rand) error { return o.disk.image(to, loss, r) }

// Image copies the files to another directory, with the content that they would have if the power
// failed now. SQLite may be writing meanwhile.
func (d *Disk) Image(to string, loss Loss, r *rand.Rand) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.image(to, loss, r)
}

// image implements Image. The caller must hold the disk's lock.
func (d *Disk) image(to string, loss Loss, r *rand.Rand) error {
	for tries := 1; ; tries++ { // a file may be renamed after the directory was listed
		err := d.copyOthers(to)
		if err == nil {
			break
		}
		if !errors.Is(err, fs.ErrNotExist) || tries == 100 {
			return err
		}
	}
	for name, f := range d.files {
		content, there := f.left(filepath.Join(d.folder, name), loss, r)
		if !there {
			continue
		}
		if err := os.WriteFile(filepath.Join(to, name), content, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// copyOthers copies the files that SQLite did not create, which count as durable.
func (d *Disk) copyOthers(to string) error {
	others, err := os.ReadDir(d.folder)
	if err != nil {
		return err
	}
	for _, other := range others {
		if _, ours := d.name(filepath.Join(d.folder, other.Name())); !ours || d.files[other.Name()] != nil || !other.Type().IsRegular() {
			continue
		}
		content, err := os.ReadFile(filepath.Join(d.folder, other.Name()))
		if err == nil {
			err = os.WriteFile(filepath.Join(to, other.Name()), content, 0o600)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (f *file) left(path string, loss Loss, r *rand.Rand) (content []byte, there bool) {
	content, err := os.ReadFile(path)
	switch {
	case loss == Ahead || loss == Some && r.IntN(2) == 0:
		if err != nil {
			return nil, false
		}
		return f.with(content, func(int64) bool { return loss == Ahead || r.IntN(2) == 0 }), true
	case loss == Some && !f.cut && err == nil: // the file grew, and lost some of the new pages
		return f.with(content, func(int64) bool { return r.IntN(2) == 0 }), true
	}
	return f.durable, f.durable != nil
}
