package connection

import (
	"testing"

	"modernc.org/libc"
	lib "modernc.org/sqlite/lib"
)

// fullSyncs counts the calls of the sync method that the VFS has set for the write-ahead log. Only
// one test at a time may use it.
var fullSyncs struct {
	n    int
	real uintptr
	fail int32
}

func countedSync(tls *libc.TLS, file uintptr, flags int32) int32 {
	fullSyncs.n++
	if fullSyncs.fail != 0 {
		return fullSyncs.fail
	}
	return called[flagsMethod](fullSyncs.real)(tls, file, flags)
}

// countSyncs replaces the sync method that the VFS has set for the write-ahead log by countedSync.
func countSyncs(t *testing.T, c *Conn) *gathered {
	t.Helper()
	counting(t, c)
	g := (*gathered)(at(c.gathering))
	fullSyncs.n, fullSyncs.fail, fullSyncs.real = 0, 0, g.real().FxSync
	g.real().FxSync = callback(countedSync)
	return g
}

// TestTheLogsDataIsSynced checks that commits call the sync method of the VFS until it has
// succeeded once, because this method also makes the name of the write-ahead log durable. Later
// commits must sync only the data, if the system can do that.
func TestTheLogsDataIsSynced(t *testing.T) {
	path, v := writer(t)
	g := countSyncs(t, v.Conn)
	fullSyncs.fail = lib.SQLITE_IOERR_FSYNC
	if _, err := v.Run(fill, 1); err == nil {
		t.Fatal("a commit passed whose sync failed")
	}
	fullSyncs.fail = 0
	for range 20 {
		must(t, v, fill, 1)
	}
	want := 2 // the failed sync and the next one
	if !g.enough {
		want = 21
	}
	if fullSyncs.n != want {
		t.Errorf("the log was synced with its name %d times, want %d", fullSyncs.n, want)
	}
	digest(t, path)
}
