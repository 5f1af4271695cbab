package sqlite

import (
	"context"
	"sync"
	"unsafe"

	"github.com/perdure/perdure/internal/disk"
	"modernc.org/libc"
	lib "modernc.org/sqlite/lib"
)

// foldAt is how many pages of 4 KiB the write-ahead log holds when it is folded into
// the file for the first time. The size of the log on the disk is some times that at
// most, while reads are short.
const foldAt = 8000

// folder folds the log into the file on a connection of its own, beside the
// committer, which continues meanwhile. SQLite begins the log again with the first
// transaction that finds all of it folded, and that is never so where a writer
// does not pause; what was written meanwhile is little, and the committer folds it
// itself: see [logged].
type folder struct {
	conn      *conn
	committer *committer
	asked     chan struct{}
	ended     chan struct{}

	// working is locked while the folder is at it: SQLite lets one connection
	// fold at a time, and gives the other up at once.
	working sync.Mutex

	mu     sync.Mutex
	busy   bool
	folded int // by the last pass
}

func openFolder(ctx context.Context, path string, committer *committer) (*folder, error) {
	c, err := openConn(ctx, path, writing, "synchronous(full)")
	if err != nil {
		return nil, err
	}
	return &folder{conn: c, committer: committer, asked: make(chan struct{}, 1), ended: make(chan struct{})}, nil
}

// run works until close.
func (f *folder) run() {
	defer close(f.ended)
	for range f.asked {
		folded := 0
		if f.committer.brokenErr() == nil {
			folded = f.pass()
		}
		f.mu.Lock()
		f.busy, f.folded = false, folded
		f.mu.Unlock()
	}
}

func (f *folder) pass() (folded int) {
	f.working.Lock()
	defer f.working.Unlock()
	folded, err := foldOn(f.conn)
	if err != nil {
		f.committer.notFolded(err)
	}
	return folded
}

// ask begins a pass, unless one is under way.
func (f *folder) ask() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.busy {
		f.busy = true
		f.asked <- struct{}{}
	}
}

// rests reports whether no pass is under way, and how many pages of the log the last one
// left folded.
func (f *folder) rests() (idle bool, folded int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return !f.busy, f.folded
}

// close waits for the pass under way. Only the committer asks, and it has ended.
func (f *folder) close() error {
	close(f.asked)
	<-f.ended
	return f.conn.close()
}

// foldOn folds what no reader is in the way of, waiting for nobody, and returns how many
// pages of the log are folded then. The file is synced when it returns.
func foldOn(c *conn) (folded int, err error) {
	var busy, frames int
	_, err = view{conn: c, ctx: context.Background()}.one("PRAGMA wal_checkpoint(PASSIVE)", nil, &busy, &frames, &folded)
	return folded, err
}

// logged is what the committer knows of the log since it was started again, in pages.
type logged struct {
	held   int // by the log
	folded int // of those
	asked  int // held when the folder was asked last
	tried  int // held when the committer folded last
}

// foldStep is what to do about the log.
type foldStep int

const (
	foldNot    foldStep = iota
	foldBeside          // ask the folder
	foldHere            // the committer folds the rest
)

// next decides after a commit that has left so many pages in the log. Passes beside
// the committer are made until what they leave is little: each takes less time, so
// less is written meanwhile. Where they cannot keep up, or reads are in the way,
// the committer folds itself, which stops it from writing more meanwhile, but only
// every now and then: a read in its way may be long.
func (l *logged) next(held, at int, idle bool, folded int) foldStep {
	if held < l.held {
		*l = logged{} // the log has been started again
	}
	l.held = held
	if held < at || !idle {
		return foldNot
	}
	if l.asked > 0 {
		l.folded = max(l.folded, min(folded, held))
	}
	little := at / 4
	switch {
	case (held-l.folded <= little || held >= 4*at) && (l.tried == 0 || held-l.tried >= little):
		l.tried = held
		return foldHere
	case held-l.folded > little && (l.asked == 0 || held-l.asked >= little):
		l.asked = held
		return foldBeside
	}
	return foldNot
}

// fold sees to it that the log is folded into the file now and then.
func (c *committer) fold() {
	idle, folded := c.folder.rests()
	switch c.logged.next(c.conn.logPages(), c.foldAt, idle, folded) {
	case foldBeside:
		c.folder.ask()
	case foldHere:
		folded, err := foldOn(c.conn)
		if err != nil {
			c.notFolded(err)
		}
		c.logged.folded = max(c.logged.folded, folded)
	}
}

// notFolded says that the log could not be folded into the file. On a full disk the
// log stays as it is until the next time; a file that cannot be written is as bad as a
// log that cannot: the log would only grow.
func (c *committer) notFolded(err error) {
	if isBroken(err) {
		c.lost(lose(err, "the file of the database cannot be written"))
		return
	}
	c.logger.Warn("the write-ahead log could not be folded into the file", "err", err)
}

// foldFrom returns foldAt, or less where the reserve is small: what the file grows by
// when the log is folded has to fit in it.
func foldFrom(reserve *disk.Reserve) int {
	if reserve == nil {
		return foldAt
	}
	return min(foldAt, int(reserve.Size()/4096))
}

// countLog lets logPages know. It takes the place of SQLite's own folding, which would
// be done before a commit is answered.
func (n *native) countLog() {
	lib.Xsqlite3_wal_hook(n.tls, n.db, callback(notePages), n.pages())
}

func notePages(_ *libc.TLS, place, _, _ uintptr, pages int32) int32 {
	*(*int32)(at(place)) = pages
	return lib.SQLITE_OK
}

// logPages is how many pages the log held after this connection's last commit.
func (n *native) logPages() int { return int(*(*int32)(at(n.pages()))) }

// noPages says that the log was emptied.
func (n *native) noPages() { *(*int32)(at(n.pages())) = 0 }

func (n *native) pages() uintptr { return n.stopped + 2*unsafe.Sizeof(int32(0)) }
