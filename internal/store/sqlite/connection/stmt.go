package connection

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"math"
	"math/bits"
	"sync/atomic"

	"github.com/google/uuid"
	"github.com/perdure/perdure/internal/store/sql/column"
	lib "modernc.org/sqlite/lib"
)

// stmt is a compiled statement of a connection. One goroutine uses it at a time.
type stmt struct {
	*native
	handle          uintptr
	params, columns int
	running         bool
	once            bool // the statement is closed after its use
	// args is the address of a buffer for the texts and blobs that are bound to parameters. The
	// field `room` is the size of the buffer in bytes.
	args uintptr
	room int
	row  func(dest ...any) error // the method scan, bound to this statement
}

func (s *stmt) close() {
	if s.handle != 0 {
		lib.Xsqlite3_finalize(s.tls, s.handle) // repeats the last step's error
		s.handle = 0
	}
	s.free(s.args)
	s.args, s.room = 0, 0
}

// begin binds an argument to each parameter. A parameter without a new argument would still point
// to the memory of an earlier run's argument.
func (s *stmt) begin(args []any) error {
	if len(args) != s.params {
		return fmt.Errorf("%d arguments for %d parameters", len(args), s.params)
	}
	size := 0
	for _, arg := range args {
		size += sizeOf(arg)
	}
	if size > math.MaxInt32 {
		return &failure{lib.SQLITE_TOOBIG, "the arguments are too large"}
	}
	if err := s.reserve(size); err != nil {
		return err
	}
	s.running = true
	place := s.args
	for i, arg := range args {
		code, err := s.bind(int32(i+1), place, arg)
		if err == nil {
			err = s.failed(code)
		}
		if err != nil {
			s.end()
			return fmt.Errorf("argument %d: %w", i+1, err)
		}
		place += uintptr(sizeOf(arg))
	}
	return nil
}

// reserve ensures that the buffer for the arguments is at least `size` bytes long.
func (s *stmt) reserve(size int) error {
	if s.args != 0 && size <= s.room {
		return nil
	}
	size = max(64, 1<<bits.Len(uint(size)))
	p, err := s.malloc(size)
	if err != nil {
		return err
	}
	s.free(s.args)
	s.args, s.room = p, size
	return nil
}

// sizeOf returns the number of bytes that an argument needs in the buffer.
func sizeOf(arg any) int {
	switch v := arg.(type) {
	case string:
		return len(v)
	case []byte:
		return len(v)
	case json.RawMessage:
		return len(v)
	}
	return 0
}

func (s *stmt) bind(i int32, place uintptr, arg any) (int32, error) {
	switch v := arg.(type) {
	case nil:
		return lib.Xsqlite3_bind_null(s.tls, s.handle, i), nil
	case int64:
		return lib.Xsqlite3_bind_int64(s.tls, s.handle, i, v), nil
	case int:
		return lib.Xsqlite3_bind_int64(s.tls, s.handle, i, int64(v)), nil
	case string:
		copy(bytesAt(place, len(v)), v)
		return lib.Xsqlite3_bind_text(s.tls, s.handle, i, place, int32(len(v)), lib.SQLITE_STATIC), nil
	case json.RawMessage:
		return s.bind(i, place, []byte(v))
	case []byte:
		if v == nil {
			return lib.Xsqlite3_bind_null(s.tls, s.handle, i), nil
		}
		copy(bytesAt(place, len(v)), v)
		return lib.Xsqlite3_bind_blob(s.tls, s.handle, i, place, int32(len(v)), lib.SQLITE_STATIC), nil
	}
	return 0, fmt.Errorf("a %T cannot be stored", arg)
}

// step advances to the next row and reports whether there is one.
func (s *stmt) step() (bool, error) {
	if atomic.LoadInt32(s.stop()) != 0 {
		return false, &failure{lib.SQLITE_INTERRUPT, "interrupted"}
	}
	code := lib.Xsqlite3_step(s.tls, s.handle)
	return code == lib.SQLITE_ROW, s.failed(code)
}

// end resets the statement, so that it can run again.
func (s *stmt) end() {
	lib.Xsqlite3_reset(s.tls, s.handle) // repeats the last step's error
	s.running = false
	if s.room > argRoom {
		s.free(s.args)
		s.args, s.room = 0, 0
	}
}

// scan scans the current row into dest.
func (s *stmt) scan(dest ...any) error {
	if len(dest) != s.columns {
		return fmt.Errorf("%d columns are read into %d places", s.columns, len(dest))
	}
	for i, d := range dest {
		if err := s.column(int32(i), d); err != nil {
			return fmt.Errorf("column %d: %w", i+1, err)
		}
	}
	return nil
}

func (s *stmt) column(i int32, dest any) error {
	switch kind := lib.Xsqlite3_column_type(s.tls, s.handle, i); kind {
	case lib.SQLITE_INTEGER:
		return readNumber(dest, lib.Xsqlite3_column_int64(s.tls, s.handle, i))
	case lib.SQLITE_TEXT:
		p := lib.Xsqlite3_column_text(s.tls, s.handle, i)
		return readText(dest, bytesAt(p, int(lib.Xsqlite3_column_bytes(s.tls, s.handle, i))))
	case lib.SQLITE_BLOB:
		p := lib.Xsqlite3_column_blob(s.tls, s.handle, i)
		return readBlob(dest, bytesAt(p, int(lib.Xsqlite3_column_bytes(s.tls, s.handle, i))))
	case lib.SQLITE_NULL:
		return readNull(dest)
	default:
		return fmt.Errorf("a value of kind %d is not known here", kind)
	}
}

func readNumber(dest any, v int64) error {
	switch p := dest.(type) {
	case column.NumberScanner:
		return p.ScanNumber(v)
	case *int64:
		*p = v
	case *int:
		*p = int(v)
	case *int32:
		*p = int32(v)
	case **int64:
		*p = &v
	case *bool:
		*p = v != 0
	case *any:
		*p = v
	case sql.Scanner:
		return p.Scan(v)
	default:
		return fmt.Errorf("a number cannot be read into a %T", dest)
	}
	return nil
}

// readText scans a text into dest. The slice v is in SQLite's memory and must be copied.
func readText(dest any, v []byte) error {
	switch p := dest.(type) {
	case column.BytesScanner:
		return p.ScanBytes(v)
	case *string:
		*p = string(v)
	case **string:
		text := string(v)
		*p = &text
	case *any:
		*p = string(v)
	case sql.Scanner:
		return p.Scan(string(v))
	default:
		return fmt.Errorf("a text cannot be read into a %T", dest)
	}
	return nil
}

func readBlob(dest any, v []byte) error {
	switch p := dest.(type) {
	case column.BytesScanner:
		return p.ScanBytes(v)
	case *uuid.UUID:
		if len(v) != len(p) {
			return fmt.Errorf("an id is stored in %d bytes", len(v))
		}
		copy(p[:], v)
	case *[]byte:
		*p = append([]byte{}, v...)
	case *any:
		*p = append([]byte{}, v...)
	case sql.Scanner:
		return p.Scan(append([]byte{}, v...))
	default:
		return fmt.Errorf("bytes cannot be read into a %T", dest)
	}
	return nil
}

func readNull(dest any) error {
	switch p := dest.(type) {
	case *any:
		*p = nil
	case **int64:
		*p = nil
	case **string:
		*p = nil
	case *[]byte:
		*p = nil
	case sql.Scanner:
		return p.Scan(nil)
	default:
		return fmt.Errorf("NULL cannot be read into a %T", dest)
	}
	return nil
}
