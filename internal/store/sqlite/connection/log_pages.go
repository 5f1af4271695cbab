package connection

import (
	"unsafe"

	"modernc.org/libc"
	lib "modernc.org/sqlite/lib"
)

// CountLog makes SQLite record the length of the write-ahead log for LogPages. That replaces
// SQLite's automatic checkpoint, for which the caller of a commit would have to wait.
func (n *native) CountLog() {
	lib.Xsqlite3_wal_hook(n.tls, n.db, callback(notePages), n.pages())
}

func notePages(_ *libc.TLS, place, _, _ uintptr, pages int32) int32 {
	*(*int32)(at(place)) = pages
	return lib.SQLITE_OK
}

// LogPages returns the number of pages in the write-ahead log after this connection's last commit.
func (n *native) LogPages() int { return int(*(*int32)(at(n.pages()))) }

// ClearLogPages records that the write-ahead log was emptied.
func (n *native) ClearLogPages() { *(*int32)(at(n.pages())) = 0 }

func (n *native) pages() uintptr { return n.stopped + 2*unsafe.Sizeof(int32(0)) }
