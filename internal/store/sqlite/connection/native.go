package connection

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"unsafe"

	"modernc.org/libc"
	lib "modernc.org/sqlite/lib"
)

// native is a connection that calls SQLite's C interface, without database/sql (see
// docs/decisions/020-sqlite-without-database-sql.md). Only one goroutine may use it at a time.
// Other goroutines may set the interrupt flag (see stop).
type native struct {
	tls *libc.TLS
	db  uintptr
	// stopped is the address of the interrupt flag, an int32 in SQLite's memory. While the flag is
	// not 0, running statements end with SQLITE_INTERRUPT. A uint32 (see Version) and an int32 (see
	// pages) follow it in memory.
	stopped uintptr
	// gathering is the address of a [gathered], or 0.
	gathering uintptr
}

const (
	// argRoom is the size of the argument buffer that a statement keeps. A larger buffer is freed
	// after use.
	argRoom = 8 << 10
	// stopEvery is the number of virtual machine steps between two checks of the interrupt flag:
	// about 50 µs.
	stopEvery = 2000
)

// failure is an error of SQLite.
type failure struct {
	code    int // extended result code
	message string
}

func (f *failure) Error() string { return fmt.Sprintf("%s (%d)", f.message, f.code) }

// Code returns SQLite's extended result code.
func (f *failure) Code() int { return f.code }

// at returns a pointer to memory that SQLite has allocated and Go does not manage.
func at(address uintptr) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&address)) }

// bytesAt returns a slice of SQLite's memory, without copying. It is valid only as long as SQLite
// leaves that memory unchanged.
func bytesAt(address uintptr, n int) []byte {
	if n == 0 {
		return []byte{}
	}
	return unsafe.Slice((*byte)(at(address)), n)
}

var errMemory = errors.New("SQLite has no memory left")

func (n *native) malloc(size int) (uintptr, error) {
	p := lib.Xsqlite3_malloc64(n.tls, lib.Tsqlite3_uint64(size))
	if p == 0 {
		return 0, errMemory
	}
	return p, nil
}

func (n *native) free(p uintptr) { lib.Xsqlite3_free(n.tls, p) }

// text copies a string into SQLite's memory. The caller must free the copy.
func (n *native) text(s string) (uintptr, error) {
	if strings.IndexByte(s, 0) >= 0 {
		return 0, errors.New("a text for SQLite has a zero in it")
	}
	p, err := n.malloc(len(s) + 1)
	if err != nil {
		return 0, err
	}
	b := bytesAt(p, len(s)+1)
	copy(b, s)
	b[len(s)] = 0
	return p, nil
}

// openNative opens the file with flags of sqlite3_open_v2.
func openNative(path string, flags int32) (*native, error) {
	n := &native{tls: libc.NewTLS()}
	if err := n.open(path, flags); err != nil {
		return nil, errors.Join(err, n.close())
	}
	return n, nil
}

func (n *native) open(path string, flags int32) error {
	name, err := n.text(path)
	if err != nil {
		return err
	}
	defer n.free(name)
	if n.stopped, err = n.malloc(int(3 * unsafe.Sizeof(int32(0)))); err != nil {
		return err
	}
	atomic.StoreInt32(n.stop(), 0)
	*(*int32)(at(n.pages())) = 0
	place, err := n.malloc(int(unsafe.Sizeof(n.db)))
	if err != nil {
		return err
	}
	defer n.free(place)
	code := lib.Xsqlite3_open_v2(n.tls, name, place, flags|lib.SQLITE_OPEN_NOMUTEX|lib.SQLITE_OPEN_EXRESCODE, 0)
	n.db = *(*uintptr)(at(place))
	if err := n.failed(code); err != nil {
		return err
	}
	lib.Xsqlite3_progress_handler(n.tls, n.db, stopEvery, callback(progress), n.stopped)
	return nil
}

// stop returns a pointer to the interrupt flag. While the flag is 1, running and new statements end
// with an error.
func (n *native) stop() *int32 { return (*int32)(at(n.stopped)) }

// progress is called by SQLite regularly during a statement. If it returns a number other than 0,
// the statement is interrupted.
func progress(_ *libc.TLS, stopped uintptr) int32 { return atomic.LoadInt32((*int32)(at(stopped))) }

// GiveWay makes long statements yield to other goroutines from time to time.
func (n *native) GiveWay() {
	lib.Xsqlite3_progress_handler(n.tls, n.db, stopEvery, callback(progressGivingWay), n.stopped)
}

func progressGivingWay(tls *libc.TLS, stopped uintptr) int32 {
	runtime.Gosched()
	return progress(tls, stopped)
}

// callback returns the address of a Go function, in the form in which SQLite calls it.
func callback[F any](f F) uintptr {
	return *(*uintptr)(unsafe.Pointer(&f))
}

// Version returns the data version of the file that this connection saw at the beginning of its last
// transaction. Every commit changes the version.
func (n *native) Version() (version uint32) {
	place := n.stopped + unsafe.Sizeof(int32(0))
	if lib.Xsqlite3_file_control(n.tls, n.db, 0, lib.SQLITE_FCNTL_DATA_VERSION, place) != lib.SQLITE_OK {
		return 0
	}
	return *(*uint32)(at(place))
}

// close closes the connection. The caller must have closed all statements of the connection.
func (n *native) close() (err error) {
	if n.db != 0 {
		err = n.failed(lib.Xsqlite3_close_v2(n.tls, n.db))
	}
	n.free(n.stopped)
	n.free(n.gathering)
	n.tls.Close()
	return err
}

// failed converts a result code of SQLite to an error; nil for success.
func (n *native) failed(code int32) error {
	switch code {
	case lib.SQLITE_OK, lib.SQLITE_ROW, lib.SQLITE_DONE:
		return nil
	}
	message := libc.GoString(lib.Xsqlite3_errstr(n.tls, code))
	if n.db != 0 {
		if more := libc.GoString(lib.Xsqlite3_errmsg(n.tls, n.db)); more != message {
			message += ": " + more
		}
	}
	return &failure{int(code), message}
}

// prepare compiles a statement.
func (n *native) prepare(query string) (*stmt, error) {
	text, err := n.text(query)
	if err != nil {
		return nil, err
	}
	defer n.free(text)
	const size = unsafe.Sizeof(text)
	places, err := n.malloc(int(2 * size))
	if err != nil {
		return nil, err
	}
	defer n.free(places)
	code := lib.Xsqlite3_prepare_v3(n.tls, n.db, text, int32(len(query)+1), lib.SQLITE_PREPARE_PERSISTENT, places, places+size)
	if err := n.failed(code); err != nil {
		return nil, err
	}
	s := &stmt{native: n, handle: *(*uintptr)(at(places))}
	if rest := *(*uintptr)(at(places + size)); s.handle == 0 || rest != text+uintptr(len(query)) {
		s.close()
		return nil, errors.New("more or less than one statement")
	}
	s.params = int(lib.Xsqlite3_bind_parameter_count(n.tls, s.handle))
	s.columns = int(lib.Xsqlite3_column_count(n.tls, s.handle))
	s.row = s.scan
	return s, nil
}
