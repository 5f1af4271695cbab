// Package disktest is a disk below SQLite that loses power. What was written is read
// from the files themselves, as from the page cache; what a loss of power leaves is
// known here, page by page. A sync that fails does what the kernel does: it marks the
// pages as clean, so they are read until power is lost, and no later sync writes them.
package disktest

import (
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	lib "modernc.org/sqlite/lib"
)

const pageSize = 4096

// Kind is what SQLite does with a file.
type Kind string

// The kinds of operations.
const (
	Write    Kind = "write"
	Sync     Kind = "sync"
	Truncate Kind = "truncate"
	Delete   Kind = "delete"
)

// Op is one operation that SQLite is about to do.
type Op struct {
	Kind Kind
	// File is the name of the file in the disk's folder.
	File string
}

// Disk is what is in one folder. The files of SQLite have to be there through SQLite
// alone; others are durable as they are.
type Disk struct {
	folder string

	mu     sync.Mutex
	files  map[string]*file
	before func(op Op) (code int32)
}

// file is what is known of one file.
type file struct {
	durable []byte         // what a loss of power leaves
	dirty   map[int64]bool // pages that no sync has written, nor a failed one forgotten
	cut     bool           // it was made shorter since the last sync
	gone    bool           // it was deleted, which may not be durable
	errors  int            // failed syncs, of which each handle is told once
}

// New watches a folder until the test ends. One disk is watched at a time.
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

// Before lets f see each operation before it is done. Where f returns a result code
// other than 0, the operation fails with it: a sync as the package says, others
// without an effect. F may call Image, and nothing else of the disk.
func (d *Disk) Before(f func(op Op) (code int32)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.before = f
}

// name returns the file's name in the folder, false for files that are none of the
// disk's, and for the shared memory, which no start believes.
func (d *Disk) name(path string) (string, bool) {
	name, ok := strings.CutPrefix(path, d.folder+string(filepath.Separator))
	return name, ok && !strings.HasSuffix(name, "-shm")
}

// opened returns what is known of a file. What is in it when it is first seen is
// durable.
func (d *Disk) opened(name string) *file {
	f := d.files[name]
	if f == nil {
		content, _ := os.ReadFile(filepath.Join(d.folder, name)) // it may not be there
		f = &file{durable: content, dirty: map[int64]bool{}}
		d.files[name] = f
	}
	return f
}

func (d *Disk) about(op Op) (code int32) {
	if d.before == nil {
		return lib.SQLITE_OK
	}
	return d.before(op)
}

func (f *file) wrote(offset int64, n int) {
	for page := offset / pageSize; page <= (offset+int64(n)-1)/pageSize; page++ {
		f.dirty[page] = true
	}
}

// synced takes what is in the file for durable, but for pages that were forgotten.
func (f *file) synced(content []byte) {
	f.durable = f.with(content, func(int64) bool { return true })
	clear(f.dirty)
	f.cut = false
}

// namesSynced makes it durable that files were deleted.
func (d *Disk) namesSynced() {
	for _, f := range d.files {
		if f.gone {
			f.durable = nil
		}
	}
}

// with returns what is durable with some of the pages that are not.
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

// failed forgets the pages that were to be written.
func (f *file) failed() {
	clear(f.dirty)
	f.errors++
}

// Loss says what of the pages that are not durable a loss of power leaves.
type Loss int

// The losses.
const (
	All   Loss = iota // nothing was written but what was synced
	Some              // some pages were written, of others nothing
	Ahead             // all pages were written that could be
)

// Image writes what a loss of power leaves into another folder.
func (d *Disk) Image(to string, loss Loss, r *rand.Rand) error {
	for tries := 1; ; tries++ { // a file that was renamed since the folder was listed has another name now
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

// copyOthers copies the files that are not SQLite's: they are durable as they are.
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
	case loss == Some && !f.cut && err == nil: // it grew, and lost pages in it
		return f.with(content, func(int64) bool { return r.IntN(2) == 0 }), true
	}
	return f.durable, f.durable != nil
}
