package sqlite

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
)

const (
	// laterFrom is how many commands a batch has at least for its writes to be put off:
	// one alone would only wait for another goroutine.
	laterFrom = 8
	// laterPiece is how many writes go over at once.
	laterPiece = 8
)

// later writes what the committer decides while that decides on: a decision of
// a task takes about as long as its statements do. It writes in the order in which it is
// told to. The committer waits for it before it reads, commits or gives up, so the
// connection is used by one goroutine at a time.
type later struct {
	conn    *conn
	on      bool // for the transaction
	pending []write
	pieces  chan []write
	ended   chan struct{}
	written sync.WaitGroup // pieces under way
	err     error          // of the transaction's first write that failed; read after written
}

type write struct {
	query string
	args  []any
}

func newLater(c *conn) *later {
	return &later{conn: c, pieces: make(chan []write, 256), ended: make(chan struct{})}
}

func (l *later) run() {
	defer close(l.ended)
	for piece := range l.pieces {
		for _, w := range piece {
			if l.err == nil {
				l.err = l.write(w)
			}
		}
		l.written.Done()
	}
}

func (l *later) write(w write) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	_, err = view{conn: l.conn, ctx: context.Background(), now: true}.exec(w.query, w.args...)
	return err
}

func (l *later) put(query string, args []any) {
	l.pending = append(l.pending, write{query, args})
	if len(l.pending) >= laterPiece {
		l.hand()
	}
}

func (l *later) hand() {
	if len(l.pending) > 0 {
		l.written.Add(1)
		l.pieces <- l.pending
		l.pending = nil
	}
}

// settle waits until everything is written, and returns the error of what was not.
func (l *later) settle() error {
	l.hand()
	l.written.Wait()
	return l.err
}

// begin lets writes of a transaction be put off; end, that no more are, and gives the
// first error.
func (l *later) begin() { l.on, l.err = true, nil }

func (l *later) end() error {
	if !l.on {
		return nil
	}
	err := l.settle()
	l.on, l.err = false, nil
	return err
}

func (l *later) close() {
	close(l.pieces)
	<-l.ended
}
