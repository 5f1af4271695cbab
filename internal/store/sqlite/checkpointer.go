package sqlite

import (
	"context"
	"sync"

	"github.com/perdure/perdure/internal/disk"
	"github.com/perdure/perdure/internal/store/sqlite/connection"
)

// foldAt is the number of 4 KiB pages in the write-ahead log at which the first checkpoint runs. As
// long as reads are short, the log stays within a few times that size.
const foldAt = 8000

// folder runs checkpoints of the log on its own connection, concurrently with the committer. SQLite
// resets the log with the first transaction that finds all of it checkpointed. While the committer
// writes without a pause, a concurrent checkpoint never covers the whole log. So the committer runs
// the last checkpoint itself, when little remains: see [logged].
type folder struct {
	conn      *connection.Conn
	committer *committer
	asked     chan struct{}
	ended     chan struct{}

	// working is locked while a checkpoint runs. SQLite allows one checkpoint at a time and rejects
	// a second one immediately.
	working sync.Mutex

	mu     sync.Mutex
	busy   bool
	folded int // pages checkpointed by the last pass
}

func openFolder(ctx context.Context, path string, committer *committer) (*folder, error) {
	c, err := connection.Open(ctx, path, connection.Writing, "synchronous(full)")
	if err != nil {
		return nil, err
	}
	return &folder{conn: c, committer: committer, asked: make(chan struct{}, 1), ended: make(chan struct{})}, nil
}

// run runs a checkpoint ("pass") for each request, until close is called.
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

// ask requests a pass, unless one is running.
func (f *folder) ask() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.busy {
		f.busy = true
		f.asked <- struct{}{}
	}
}

// rests reports whether no pass is running, and how many pages of the log were checkpointed at the
// end of the last pass.
func (f *folder) rests() (idle bool, folded int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return !f.busy, f.folded
}

// close waits for a running pass. Only the committer requests passes, and it must have ended.
func (f *folder) close() error {
	close(f.asked)
	<-f.ended
	return f.conn.Close()
}

// foldOn checkpoints as many pages of the log as possible without waiting for readers. It returns
// how many pages of the log are checkpointed now. The file is synced when it returns.
func foldOn(c *connection.Conn) (folded int, err error) {
	var busy, frames int
	_, err = c.With(context.Background()).One("PRAGMA wal_checkpoint(PASSIVE)", nil, &busy, &frames, &folded)
	return folded, err
}

// logged counts the pages of the log since its last reset, as the committer knows them.
type logged struct {
	held   int // in the log
	folded int // of those, checkpointed
	asked  int // value of held at the last request to the folder
	tried  int // value of held at the committer's last checkpoint
}

// foldStep is the next action for the log.
type foldStep int

const (
	foldNot    foldStep = iota
	foldBeside          // request a pass of the folder
	foldHere            // the committer checkpoints the rest
)

// next returns the next action for the log, after a commit that has left held pages in it. at is
// the threshold for the first checkpoint; idle and folded are the results of rests. The folder runs
// passes until few pages remain: each pass is shorter, so less is written during it. If passes
// cannot keep up or reads block them, the committer runs the checkpoint itself, which stops all
// writes meanwhile. It does so only from time to time, because a blocking read may be long.
func (l *logged) next(held, at int, idle bool, folded int) foldStep {
	if held < l.held {
		*l = logged{} // the log has been reset
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

// fold runs a checkpoint or requests a pass of the folder, if one is due.
func (c *committer) fold() {
	idle, folded := c.folder.rests()
	step := c.logged.next(c.conn.LogPages(), c.foldAt, idle, folded)
	if step == foldBeside && c.foldsHere {
		step = foldHere
	}
	switch step {
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

// notFolded handles a failed checkpoint. If the file cannot be written, the store stops writing,
// because the log would only grow. After other errors, such as a full disk, it logs a warning, and
// the log remains as it is until the next checkpoint.
func (c *committer) notFolded(err error) {
	if connection.IsBroken(err) {
		c.lost(lose(err, "the file of the database cannot be written"))
		return
	}
	c.logger.Warn("the write-ahead log could not be folded into the file", "err", err)
}

// foldFrom returns the number of pages at which the first checkpoint runs: foldAt, or less if the
// reserve is smaller, because a checkpoint must not extend the file by more than the reserve.
func foldFrom(reserve *disk.Reserve) int {
	if reserve == nil {
		return foldAt
	}
	return min(foldAt, int(reserve.Size()/4096))
}
