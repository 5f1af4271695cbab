package disktest

import (
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"unsafe"

	"modernc.org/libc"
	lib "modernc.org/sqlite/lib"
)

// watched is the Disk that now tracks SQLite's operations; nil if there is none.
var watched atomic.Pointer[Disk]

// opening is a file that SQLite has opened. The map openings finds the opening by the address of
// SQLite's structure for the file. The table of methods in that structure does not identify the
// opening: another layer may have replaced the table.
type opening struct {
	disk *Disk
	name string
	file *file
	own  uintptr // address of the system's methods for the file
	seen int     // number of failed syncs that were reported to this handle
	// names reports whether the file's first sync also makes the names in the directory durable.
	// SQLite requests that for a journal or log that it may have created.
	names bool
}

var (
	openings  sync.Map // maps the address of SQLite's file to *opening
	openReal  uintptr  // the system's function that opens a file
	deleteOwn uintptr
	once      sync.Once
	// systemVFS is SQLite's own default VFS. diskVFS is the VFS that passes each operation to the
	// watched Disk; it is the default while a test uses a Disk.
	systemVFS, diskVFS uintptr
)

// between makes SQLite's file operations pass through this package until the test ends.
func between(t *testing.T) {
	register()
	tls := libc.NewTLS()
	lib.Xsqlite3_vfs_register(tls, diskVFS, 1)
	t.Cleanup(func() {
		lib.Xsqlite3_vfs_register(tls, systemVFS, 1)
		tls.Close()
	})
}

// register creates diskVFS at its first call.
func register() {
	once.Do(func() {
		tls := libc.NewTLS()
		lib.Xsqlite3_initialize(tls)
		systemVFS = lib.Xsqlite3_vfs_find(tls, 0)
		system := (*lib.Tsqlite3_vfs)(at(systemVFS))
		memory := lib.Xsqlite3_malloc(tls, int32(unsafe.Sizeof(*system)))
		mine := (*lib.Tsqlite3_vfs)(at(memory))
		*mine = *system
		name, err := libc.CString("disktest")
		if err != nil {
			panic(err)
		}
		mine.FpNext, mine.FzName = 0, name
		openReal, deleteOwn = system.FxOpen, system.FxDelete
		mine.FxOpen, mine.FxDelete = callback(xOpen), callback(xDelete)
		diskVFS = memory
	})
}

// at converts an address outside of Go's memory to a pointer.
func at(address uintptr) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&address)) }

// callback returns the address of a Go function without captured variables, in the form in which
// SQLite calls it.
func callback[F any](f F) uintptr { return *(*uintptr)(unsafe.Pointer(&f)) }

// called returns the Go function for a C function pointer of SQLite.
func called[F any](address uintptr) F { return *(*F)(unsafe.Pointer(&struct{ uintptr }{address})) }

func xOpen(tls *libc.TLS, vfs, name, file uintptr, flags int32, outFlags uintptr) int32 {
	code := called[func(*libc.TLS, uintptr, uintptr, uintptr, int32, uintptr) int32](openReal)(tls, vfs, name, file, flags, outFlags)
	d := watched.Load()
	if code != lib.SQLITE_OK || d == nil || name == 0 {
		return code
	}
	path, ours := d.name(libc.GoString(name))
	if !ours {
		return code
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	f := d.opened(path)
	place := (*lib.Tsqlite3_file)(at(file))
	// This copy of the file's table of methods is never freed, because SQLite may close the file
	// only after the test.
	memory := lib.Xsqlite3_malloc(tls, int32(unsafe.Sizeof(lib.Tsqlite3_io_methods{})))
	methods := (*lib.Tsqlite3_io_methods)(at(memory))
	*methods = *(*lib.Tsqlite3_io_methods)(at(place.FpMethods))
	const journal = lib.SQLITE_OPEN_MAIN_JOURNAL | lib.SQLITE_OPEN_SUPER_JOURNAL | lib.SQLITE_OPEN_WAL
	f.gone = false
	openings.Store(file, &opening{
		disk: d, name: path, file: f, own: place.FpMethods, seen: f.errors,
		names: flags&lib.SQLITE_OPEN_CREATE != 0 && flags&journal != 0,
	})
	methods.FxWrite, methods.FxTruncate = callback(xWrite), callback(xTruncate)
	methods.FxSync, methods.FxClose = callback(xSync), callback(xClose)
	place.FpMethods = memory
	return code
}

func openingOf(file uintptr) *opening {
	o, _ := openings.Load(file)
	return o.(*opening)
}

func (o *opening) real() *lib.Tsqlite3_io_methods { return (*lib.Tsqlite3_io_methods)(at(o.own)) }

func xDelete(tls *libc.TLS, vfs, name uintptr, sync int32) int32 {
	d := watched.Load()
	remove := called[func(*libc.TLS, uintptr, uintptr, int32) int32](deleteOwn)
	if d == nil {
		return remove(tls, vfs, name, sync)
	}
	path, ours := d.name(libc.GoString(name))
	if !ours {
		return remove(tls, vfs, name, sync)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if code := d.about(Delete, path); code != lib.SQLITE_OK {
		return code
	}
	f := d.opened(path)
	code := remove(tls, vfs, name, sync)
	if clear(f.dirty); sync != 0 {
		f.durable = nil
	}
	f.cut, f.gone = true, true
	return code
}

func xWrite(tls *libc.TLS, file, p uintptr, n int32, offset int64) int32 {
	o := openingOf(file)
	code := o.write(tls, file, p, n, offset)
	o.disk.pause(o.name)
	return code
}

func (o *opening) write(tls *libc.TLS, file, p uintptr, n int32, offset int64) int32 {
	o.disk.mu.Lock()
	defer o.disk.mu.Unlock()
	if code := o.disk.about(Write, o.name); code != lib.SQLITE_OK {
		return code
	}
	code := called[func(*libc.TLS, uintptr, uintptr, int32, int64) int32](o.real().FxWrite)(tls, file, p, n, offset)
	o.file.wrote(offset, int(n))
	return code
}

func xTruncate(tls *libc.TLS, file uintptr, size int64) int32 {
	o := openingOf(file)
	o.disk.mu.Lock()
	defer o.disk.mu.Unlock()
	if code := o.disk.about(Truncate, o.name); code != lib.SQLITE_OK {
		return code
	}
	o.file.cut = true
	return called[func(*libc.TLS, uintptr, int64) int32](o.real().FxTruncate)(tls, file, size)
}

func xSync(tls *libc.TLS, file uintptr, flags int32) int32 {
	o := openingOf(file)
	o.disk.mu.Lock()
	defer o.disk.mu.Unlock()
	if code := o.disk.about(Sync, o.name); code != lib.SQLITE_OK {
		o.file.failed()
		o.seen = o.file.errors
		return code
	}
	if code := called[func(*libc.TLS, uintptr, int32) int32](o.real().FxSync)(tls, file, flags); code != lib.SQLITE_OK {
		return code
	}
	content, err := os.ReadFile(o.disk.folder + "/" + o.name)
	if err != nil {
		return lib.SQLITE_IOERR_FSYNC
	}
	o.file.synced(content)
	if o.names && flags&lib.SQLITE_SYNC_DATAONLY == 0 {
		o.names = false
		o.disk.namesSynced()
	}
	if o.seen != o.file.errors { // a sync has failed that was not yet reported to this handle
		o.seen = o.file.errors
		return lib.SQLITE_IOERR_FSYNC
	}
	return lib.SQLITE_OK
}

func xClose(tls *libc.TLS, file uintptr) int32 {
	o := openingOf(file)
	openings.Delete(file)
	(*lib.Tsqlite3_file)(at(file)).FpMethods = o.own
	return called[func(*libc.TLS, uintptr) int32](o.real().FxClose)(tls, file)
}
