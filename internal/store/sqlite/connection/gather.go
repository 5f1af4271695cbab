package connection

import (
	"unsafe"

	"modernc.org/libc"
	lib "modernc.org/sqlite/lib"
)

// gathered is a layer between SQLite and the write-ahead log of the writing connection. SQLite
// writes each page with two system calls. This layer collects the writes in memory and writes many
// of them with one call: when its memory is full, and before any other operation on the file. So
// all data is written before a sync, and a commit is reported only after its sync
// (synchronous=FULL). The struct is in SQLite's memory. The functions below are the methods with
// which SQLite calls the layer.
type gathered struct {
	methods lib.Tsqlite3_io_methods // must be first, because SQLite expects it there
	own     uintptr                 // the methods that the VFS has set for the file
	room    uintptr                 // address of a buffer of gatherRoom bytes
	n       int                     // number of bytes in the buffer
	offset  int64                   // offset in the file at which the buffer will be written
	zeros   uintptr                 // address of aheadPiece zero bytes
	end     int64                   // the file is known to have at least this length, in bytes
	size    int64                   // receives the length of the file from the file's FxFileSize
	short   bool                    // the file is not extended ahead
	synced  bool                    // an earlier sync has made the file, its length and its name durable
	dataSync
}

const (
	// gatherRoom is the size of the buffer for collected writes: 31 pages with their frame headers.
	gatherRoom = 128 << 10
	// logAhead is the number of bytes by which the log file is extended when it must grow. A sync
	// after the file has grown costs a third more than a sync of overwritten data, because the
	// length must be synced, too. The zeros after the last commit do no harm: SQLite does not take
	// them for a frame. aheadPiece is the size of one write of zeros; it is less than 128 KiB.
	logAhead, aheadPiece = 240 << 10, 120 << 10
)

// logFile returns the address of the connection's write-ahead log file, which must be open.
func (n *native) logFile() (file uintptr, err error) {
	place, err := n.malloc(int(unsafe.Sizeof(file)))
	if err != nil {
		return 0, err
	}
	defer n.free(place)
	if err := n.failed(lib.Xsqlite3_file_control(n.tls, n.db, 0, lib.SQLITE_FCNTL_JOURNAL_POINTER, place)); err != nil {
		return 0, err
	}
	file = *(*uintptr)(at(place))
	if file == 0 || methodsOf(file).FpMethods == 0 {
		return 0, &failure{lib.SQLITE_MISUSE, "the write-ahead log is not open"}
	}
	return file, nil
}

func methodsOf(file uintptr) *lib.Tsqlite3_file { return (*lib.Tsqlite3_file)(at(file)) }

// GatherLog inserts the layer [gathered] between SQLite and the connection's write-ahead log, which
// must be open. The layer writes the log in large pieces and syncs it as [dataSync] describes.
// Without the layer, SQLite writes each page separately and syncs with fsync.
func (n *native) GatherLog() error {
	file, err := n.logFile()
	if err != nil {
		return err
	}
	log := methodsOf(file)
	size := int(unsafe.Sizeof(gathered{}))
	memory, err := n.malloc(size + gatherRoom + aheadPiece)
	if err != nil {
		return err
	}
	g := (*gathered)(at(memory))
	*g = gathered{methods: *(*lib.Tsqlite3_io_methods)(at(log.FpMethods)), own: log.FpMethods, room: memory + uintptr(size)}
	g.zeros = g.room + gatherRoom
	g.dataSync = n.dataSync()
	clear(bytesAt(g.zeros, aheadPiece))
	g.methods.FxWrite, g.methods.FxRead = callback(gatherWrite), callback(gatherRead)
	g.methods.FxSync, g.methods.FxTruncate = callback(gatherSync), callback(gatherTruncate)
	g.methods.FxFileSize, g.methods.FxClose = callback(gatherFileSize), callback(gatherClose)
	log.FpMethods = memory
	n.gathering = memory
	lib.Xsqlite3_rollback_hook(n.tls, n.db, callback(gaveUp), memory)
	return nil
}

func gatheredOf(file uintptr) *gathered {
	return (*gathered)(at(methodsOf(file).FpMethods))
}

func (g *gathered) real() *lib.Tsqlite3_io_methods { return (*lib.Tsqlite3_io_methods)(at(g.own)) }

// called converts the address of a C function of SQLite to a Go function.
func called[F any](address uintptr) F { return *(*F)(unsafe.Pointer(&struct{ uintptr }{address})) }

type (
	pieceMethod = func(tls *libc.TLS, file, p uintptr, n int32, offset int64) int32
	sizeMethod  = func(tls *libc.TLS, file uintptr, size int64) int32
	placeMethod = func(tls *libc.TLS, file, place uintptr) int32
	flagsMethod = func(tls *libc.TLS, file uintptr, flags int32) int32
	fileMethod  = func(tls *libc.TLS, file uintptr) int32
)

// flush writes the collected data and returns SQLite's result code. If the write fails, the data is
// dropped: SQLite gets the error and rolls the transaction back.
func (g *gathered) flush(tls *libc.TLS, file uintptr) int32 {
	if g.n == 0 {
		return lib.SQLITE_OK
	}
	n := g.n
	g.n = 0
	code := called[pieceMethod](g.real().FxWrite)(tls, file, g.room, int32(n), g.offset)
	if to := g.offset + int64(n); code == lib.SQLITE_OK && to > g.end {
		g.grown(tls, file, to)
	}
	return code
}

// grown must be called after a write that has made the file longer, up to the offset `to`. Unless
// g.short is set, it extends the file further with zeros. It sets g.end to the new length of the
// file.
func (g *gathered) grown(tls *libc.TLS, file uintptr, to int64) {
	if g.short {
		g.end = to
		return
	}
	g.lengthen(tls, file, to)
}

// GoAhead sets whether the log file is extended ahead of writes: see [gathered].
func (n *native) GoAhead(ahead bool) {
	if n.gathering != 0 {
		(*gathered)(at(n.gathering)).short = !ahead
	}
}

// lengthen extends the log file ahead of writes. If the file is not longer than the offset `to`, it
// writes zeros at the end of the file until the file is at least logAhead bytes longer than `to`.
// It sets g.end to the length of the file. If a write fails, for example on a full disk, it stops
// without an error.
func (g *gathered) lengthen(tls *libc.TLS, file uintptr, to int64) {
	place := uintptr(unsafe.Pointer(&g.size)) // in SQLite's memory, like all of g
	if called[placeMethod](g.real().FxFileSize)(tls, file, place) != lib.SQLITE_OK {
		return
	}
	if g.end = g.size; g.end > to {
		return
	}
	for until := to + logAhead; g.end < until; g.end += aheadPiece {
		if called[pieceMethod](g.real().FxWrite)(tls, file, g.zeros, aheadPiece, g.end) != lib.SQLITE_OK {
			return
		}
	}
}

// ForgetGathered drops the collected writes of a transaction that will be rolled back. If they were
// written later, they would take space and time, and their failure could make another transaction
// fail. The data of earlier commits is already written.
func (n *native) ForgetGathered() {
	if n.gathering != 0 {
		(*gathered)(at(n.gathering)).n = 0
	}
}

// gaveUp drops the collected writes. SQLite calls it after each rollback, also after one that
// SQLite has started itself.
func gaveUp(_ *libc.TLS, gathering uintptr) { (*gathered)(at(gathering)).n = 0 }

func gatherWrite(tls *libc.TLS, file, p uintptr, n int32, offset int64) int32 {
	g := gatheredOf(file)
	if g.n > 0 && (offset != g.offset+int64(g.n) || g.n+int(n) > gatherRoom) {
		if code := g.flush(tls, file); code != lib.SQLITE_OK {
			return code
		}
	}
	if n > gatherRoom {
		return called[pieceMethod](g.real().FxWrite)(tls, file, p, n, offset)
	}
	if g.n == 0 {
		g.offset = offset
	}
	copy(bytesAt(g.room, gatherRoom)[g.n:], bytesAt(p, int(n)))
	g.n += int(n)
	return lib.SQLITE_OK
}

func gatherRead(tls *libc.TLS, file, p uintptr, n int32, offset int64) int32 {
	g := gatheredOf(file)
	if code := g.flush(tls, file); code != lib.SQLITE_OK {
		return code
	}
	return called[pieceMethod](g.real().FxRead)(tls, file, p, n, offset)
}

func gatherSync(tls *libc.TLS, file uintptr, flags int32) int32 {
	g := gatheredOf(file)
	if code := g.flush(tls, file); code != lib.SQLITE_OK {
		return code
	}
	if g.synced && g.enough {
		return g.sync(tls, file, flags, g.real())
	}
	code := called[flagsMethod](g.real().FxSync)(tls, file, flags)
	g.synced = g.synced || code == lib.SQLITE_OK
	return code
}

func gatherTruncate(tls *libc.TLS, file uintptr, size int64) int32 {
	g := gatheredOf(file)
	if code := g.flush(tls, file); code != lib.SQLITE_OK {
		return code
	}
	g.end = min(g.end, size)
	return called[sizeMethod](g.real().FxTruncate)(tls, file, size)
}

func gatherFileSize(tls *libc.TLS, file, place uintptr) int32 {
	g := gatheredOf(file)
	if code := g.flush(tls, file); code != lib.SQLITE_OK {
		return code
	}
	return called[placeMethod](g.real().FxFileSize)(tls, file, place)
}

// gatherClose restores the methods that the VFS has set for the file, and closes the file.
// Collected data without a commit is dropped.
func gatherClose(tls *libc.TLS, file uintptr) int32 {
	g := gatheredOf(file)
	methodsOf(file).FpMethods = g.own
	return called[fileMethod](g.real().FxClose)(tls, file)
}
