package sqlitelog

import (
	"errors"
	"fmt"
	"unsafe"

	"modernc.org/libc"
	lib "modernc.org/sqlite/lib"
)

// Failure is an error of SQLite.
type Failure struct {
	code    int // extended result code
	message string
}

// Error implements error.
func (f *Failure) Error() string { return fmt.Sprintf("%s (%d)", f.message, f.code) }

// Code returns SQLite's extended result code.
func (f *Failure) Code() int { return f.code }

// conn is a connection that reads and writes the files of a database with SQLite's own file
// methods. One goroutine uses it at a time.
type conn struct {
	tls    *libc.TLS
	db     uintptr
	memory uintptr // pieceSize bytes, followed by space for one number
}

const (
	// pieceSize is the number of bytes that are read or written at once. SQLite's own limit is 128
	// KiB.
	pieceSize = 64 << 10
	// patience is the time in milliseconds for which the connection waits while other processes
	// read the database.
	patience = 10_000
)

var errMemory = errors.New("SQLite has no memory left")

// open opens an existing database. Closing the connection does not checkpoint the write-ahead log.
func open(path string) (*conn, error) {
	c := &conn{tls: libc.NewTLS()}
	if err := c.open(path); err != nil {
		return nil, errors.Join(err, c.close())
	}
	return c, nil
}

func (c *conn) open(path string) error {
	if c.memory = lib.Xsqlite3_malloc(c.tls, pieceSize+8); c.memory == 0 {
		return errMemory
	}
	name, err := libc.CString(path)
	if err != nil {
		return err
	}
	defer libc.Xfree(c.tls, name)
	code := lib.Xsqlite3_open_v2(c.tls, name, c.place(), lib.SQLITE_OPEN_READWRITE|lib.SQLITE_OPEN_NOMUTEX|lib.SQLITE_OPEN_EXRESCODE, 0)
	c.db = *(*uintptr)(at(c.place()))
	if err := c.failed(code); err != nil {
		return err
	}
	lib.Xsqlite3_busy_timeout(c.tls, c.db, patience)
	return c.keepLog()
}

// keepLog prevents the checkpoint that SQLite runs when the last connection is closed. After a
// failed Settle, the log may not be durable, and must not be used for a checkpoint.
func (c *conn) keepLog() error {
	args := libc.NewVaList(int32(1), uintptr(0))
	defer libc.Xfree(c.tls, args)
	return c.failed(lib.Xsqlite3_db_config(c.tls, c.db, lib.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, args))
}

func (c *conn) close() (err error) {
	if c.db != 0 {
		err = c.failed(lib.Xsqlite3_close_v2(c.tls, c.db))
	}
	lib.Xsqlite3_free(c.tls, c.memory)
	c.tls.Close()
	return err
}

// place returns the address of the space for one number in the connection's C memory.
func (c *conn) place() uintptr { return c.memory + pieceSize }

// at converts an address outside of Go's memory to a pointer.
func at(address uintptr) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&address)) }

func (c *conn) failed(code int32) error {
	if code == lib.SQLITE_OK {
		return nil
	}
	message := libc.GoString(lib.Xsqlite3_errstr(c.tls, code))
	if c.db != 0 {
		if more := libc.GoString(lib.Xsqlite3_errmsg(c.tls, c.db)); more != message {
			message += ": " + more
		}
	}
	return &Failure{int(code), message}
}

// run runs a statement and ignores its rows.
func (c *conn) run(query string) error {
	text, err := libc.CString(query)
	if err != nil {
		return err
	}
	defer libc.Xfree(c.tls, text)
	return c.failed(lib.Xsqlite3_exec(c.tls, c.db, text, 0, 0, 0))
}

// number returns the single number that a statement selects.
func (c *conn) number(query string) (int64, error) {
	text, err := libc.CString(query)
	if err != nil {
		return 0, err
	}
	defer libc.Xfree(c.tls, text)
	if err := c.failed(lib.Xsqlite3_prepare_v2(c.tls, c.db, text, -1, c.place(), 0)); err != nil {
		return 0, err
	}
	stmt := *(*uintptr)(at(c.place()))
	defer lib.Xsqlite3_finalize(c.tls, stmt)
	if code := lib.Xsqlite3_step(c.tls, stmt); code != lib.SQLITE_ROW {
		return 0, c.failed(code)
	}
	return lib.Xsqlite3_column_int64(c.tls, stmt, 0), nil
}

// fold copies the pages of the write-ahead log into the database file (a checkpoint), and truncates
// the log.
func (c *conn) fold() error {
	return c.failed(lib.Xsqlite3_wal_checkpoint_v2(c.tls, c.db, 0, lib.SQLITE_CHECKPOINT_TRUNCATE, 0, 0))
}

// methods returns the table of SQLite's I/O methods of an open file.
func methods(file uintptr) *lib.Tsqlite3_io_methods {
	return (*lib.Tsqlite3_io_methods)(at((*lib.Tsqlite3_file)(at(file)).FpMethods))
}

func (c *conn) mainFile() (uintptr, error) { return c.file(lib.SQLITE_FCNTL_FILE_POINTER) }

// logFile returns the address of SQLite's object for the write-ahead log; 0 if no log is open.
func (c *conn) logFile() (uintptr, error) {
	file, err := c.file(lib.SQLITE_FCNTL_JOURNAL_POINTER)
	if err != nil || file == 0 || (*lib.Tsqlite3_file)(at(file)).FpMethods == 0 {
		return 0, err
	}
	return file, nil
}

func (c *conn) file(which int32) (uintptr, error) {
	code := lib.Xsqlite3_file_control(c.tls, c.db, 0, which, c.place())
	return *(*uintptr)(at(c.place())), c.failed(code)
}

// called returns the Go function for a C function pointer of SQLite.
func called[F any](address uintptr) F { return *(*F)(unsafe.Pointer(&struct{ uintptr }{address})) }

type (
	pieceMethod = func(tls *libc.TLS, file, p uintptr, n int32, offset int64) int32
	placeMethod = func(tls *libc.TLS, file, place uintptr) int32
	flagsMethod = func(tls *libc.TLS, file uintptr, flags int32) int32
)

func (c *conn) size(file uintptr) (int64, error) {
	code := called[placeMethod](methods(file).FxFileSize)(c.tls, file, c.place())
	return *(*int64)(at(c.place())), c.failed(code)
}

// rewrite rewrites the whole content of a file in place, and syncs the file. The kernel then also
// writes those pages that it wrongly considers clean.
func (c *conn) rewrite(file uintptr, size int64) error {
	for offset := int64(0); offset < size; offset += pieceSize {
		n := int32(min(pieceSize, size-offset))
		if err := c.failed(called[pieceMethod](methods(file).FxRead)(c.tls, file, c.memory, n, offset)); err != nil {
			return err
		}
		if err := c.failed(called[pieceMethod](methods(file).FxWrite)(c.tls, file, c.memory, n, offset)); err != nil {
			return err
		}
	}
	return c.sync(file)
}

func (c *conn) sync(file uintptr) error {
	return c.failed(called[flagsMethod](methods(file).FxSync)(c.tls, file, lib.SQLITE_SYNC_NORMAL))
}
