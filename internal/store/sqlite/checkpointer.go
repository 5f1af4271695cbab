package sqlite

import (
	"context"
	"sync"

	"github.com/perdure/perdure/internal/disk"
	"github.com/perdure/perdure/internal/store/sqlite/connection"
)

// checkpointAt is the number of pages (of 4 KiB) in the write-ahead log at which the first
// checkpoint runs. Unless reads are long, the log grows to a few times checkpointAt at most.
const checkpointAt = 8000

// checkpointer runs checkpoints of the write-ahead log on its own connection, concurrently with the
// committer. SQLite starts the log again from its beginning (a reset) when a transaction begins to
// write and the whole log is checkpointed. While the committer writes without a pause, a concurrent
// checkpoint never covers the whole log. So the committer itself runs the last checkpoint, when few
// pages remain: see [logProgress].
type checkpointer struct {
	conn      *connection.Conn
	committer *committer
	asked     chan struct{}
	ended     chan struct{}

	// working is locked while a checkpoint runs. SQLite rejects a second checkpoint meanwhile.
	working sync.Mutex

	mu           sync.Mutex
	busy         bool
	checkpointed int // number of pages of the log that were checkpointed when the last pass ended
}

func openCheckpointer(ctx context.Context, path string, committer *committer) (*checkpointer, error) {
	c, err := connection.Open(ctx, path, connection.Writing, "synchronous(full)")
	if err != nil {
		return nil, err
	}
	return &checkpointer{conn: c, committer: committer, asked: make(chan struct{}, 1), ended: make(chan struct{})}, nil
}

// run runs a checkpoint (a "pass") for each request, until close is called.
func (f *checkpointer) run() {
	defer close(f.ended)
	for range f.asked {
		checkpointed := 0
		if f.committer.brokenErr() == nil {
			checkpointed = f.pass()
		}
		f.mu.Lock()
		f.busy, f.checkpointed = false, checkpointed
		f.mu.Unlock()
	}
}

func (f *checkpointer) pass() (checkpointed int) {
	f.working.Lock()
	defer f.working.Unlock()
	checkpointed, err := checkpointOn(f.conn)
	if err != nil {
		f.committer.checkpointFailed(err)
	}
	return checkpointed
}

// ask requests a pass of the checkpointer. It does nothing while a pass is running.
func (f *checkpointer) ask() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.busy {
		f.busy = true
		f.asked <- struct{}{}
	}
}

// rests reports whether no pass is running, and how many pages of the log were checkpointed when
// the last pass ended.
func (f *checkpointer) rests() (idle bool, checkpointed int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return !f.busy, f.checkpointed
}

// close waits for a running pass and ends the checkpointer. The committer, which requests passes,
// must have ended before close is called.
func (f *checkpointer) close() error {
	close(f.asked)
	<-f.ended
	return f.conn.Close()
}

// checkpointOn checkpoints as many pages of the log as possible without waiting for readers, and
// syncs the database file. It returns how many pages of the log are checkpointed now.
func checkpointOn(c *connection.Conn) (checkpointed int, err error) {
	var busy, frames int
	_, err = c.With(context.Background()).One("PRAGMA wal_checkpoint(PASSIVE)", nil, &busy, &frames, &checkpointed)
	return checkpointed, err
}

// logProgress contains the committer's counts of pages in the write-ahead log: how many pages were
// written, and how many were checkpointed, since the last reset of the log.
type logProgress struct {
	held         int // number of pages in the log
	checkpointed int // number of pages in the log that are checkpointed
	asked        int // value of held at the last request to the checkpointer
	tried        int // value of held at the committer's last checkpoint
}

// logStep is what the committer does next for the write-ahead log.
type logStep int

const (
	noCheckpoint     logStep = iota
	checkpointBeside         // the committer requests a pass of the checkpointer
	checkpointHere           // the committer checkpoints the remaining pages itself
)

// next returns what to do for the log after a commit. The parameter `held` is the number of pages
// in the log, and `at` the number at which the first checkpoint runs; `idle` and `checkpointed` are
// the results of the method `rests`.
//
// The checkpointer runs passes until few pages remain: each pass is shorter than the one before, so
// the committer writes less during it. If passes cannot keep up, or if reads block them, the
// committer runs the checkpoint itself, which stops all writes meanwhile. The committer repeats its
// checkpoint only after the log has grown further, because a blocking read may be long.
func (l *logProgress) next(held, at int, idle bool, checkpointed int) logStep {
	if held < l.held {
		*l = logProgress{} // the log has been reset
	}
	l.held = held
	if held < at || !idle {
		return noCheckpoint
	}
	if l.asked > 0 {
		l.checkpointed = max(l.checkpointed, min(checkpointed, held))
	}
	little := at / 4
	switch {
	case (held-l.checkpointed <= little || held >= 4*at) && (l.tried == 0 || held-l.tried >= little):
		l.tried = held
		return checkpointHere
	case held-l.checkpointed > little && (l.asked == 0 || held-l.asked >= little):
		l.asked = held
		return checkpointBeside
	}
	return noCheckpoint
}

// checkpoint does what is due for the log: it runs a checkpoint, requests a pass of the
// checkpointer, or does nothing.
func (c *committer) checkpoint() {
	idle, checkpointed := c.checkpointer.rests()
	step := c.logProgress.next(c.conn.LogPages(), c.checkpointAt, idle, checkpointed)
	if step == checkpointBeside && c.checkpointsHere {
		step = checkpointHere
	}
	switch step {
	case checkpointBeside:
		c.checkpointer.ask()
	case checkpointHere:
		checkpointed, err := checkpointOn(c.conn)
		if err != nil {
			c.checkpointFailed(err)
		}
		c.logProgress.checkpointed = max(c.logProgress.checkpointed, checkpointed)
	}
}

// checkpointFailed handles a failed checkpoint. If the file cannot be written, the store stops
// writing. Other errors, such as a full disk, are logged; the next checkpoint tries again.
func (c *committer) checkpointFailed(err error) {
	if connection.IsBroken(err) {
		c.lost(lose(err, "the file of the database cannot be written"))
		return
	}
	c.logger.Warn("the write-ahead log could not be folded into the file", "err", err)
}

// checkpointFrom returns the number of pages in the log at which the first checkpoint runs:
// checkpointAt, but no more pages than fit into the reserve of disk space. Otherwise a checkpoint
// could extend the file by more than the reserve.
func checkpointFrom(reserve *disk.Reserve) int {
	if reserve == nil {
		return checkpointAt
	}
	return min(checkpointAt, int(reserve.Size()/4096))
}
