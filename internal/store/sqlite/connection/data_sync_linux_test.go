package connection

import (
	"os"
	"testing"

	lib "modernc.org/sqlite/lib"
)

// TestASyncOfTheLogsDataThatFails checks that the sync of the write-ahead log returns
// SQLITE_IOERR_FSYNC if the system's sync fails.
func TestASyncOfTheLogsDataThatFails(t *testing.T) {
	_, v := writer(t)
	g := countSyncs(t, v.Conn)
	must(t, v, fill, 1)
	if !g.enough || !g.system {
		t.Fatal("the log is not synced by the system's own call")
	}
	file, err := v.logFile()
	if err != nil {
		t.Fatal(err)
	}
	read, write, err := os.Pipe() // a pipe cannot be synced
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	defer write.Close()
	log := (*lib.TunixFile)(at(file))
	before := log.Fh
	defer func() { log.Fh = before }()
	log.Fh = int32(write.Fd())
	if code := gatherSync(v.tls, file, lib.SQLITE_SYNC_NORMAL); code != lib.SQLITE_IOERR_FSYNC {
		t.Errorf("it gives %d", code)
	}
}
