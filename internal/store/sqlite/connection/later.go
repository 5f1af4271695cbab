package connection

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
)

// laterPiece is the number of deferred writes that the committer passes at a time to the goroutine
// that executes them.
const laterPiece = 8

// Later executes deferred writes on its own goroutine, in order, while the committer decides on
// further commands. This saves time, because the decision on a task takes about as long as the
// statements that write it. The committer waits for the writes before it reads, commits or rolls
// back, so only one goroutine uses the connection at a time.
type Later struct {
	conn    *Conn
	on      bool // the current transaction defers writes
	pending []write
	pieces  chan []write
	ended   chan struct{}
	written sync.WaitGroup // counts the handed-over pieces that are not executed yet
	err     error          // error of the transaction's first failed write; must be read after written.Wait
}

type write struct {
	query string
	args  []any
}

// StartLater allows later transactions to defer writes (see [Later]). The caller must call
// [Later.Close].
func (c *Conn) StartLater() {
	c.Later = newLater(c)
	go c.Later.run()
}

func newLater(c *Conn) *Later {
	return &Later{conn: c, pieces: make(chan []write, 256), ended: make(chan struct{})}
}

func (l *Later) run() {
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

func (l *Later) write(w write) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	_, err = View{Conn: l.conn, ctx: context.Background(), now: true}.Run(w.query, w.args...)
	return err
}

func (l *Later) put(query string, args []any) {
	l.pending = append(l.pending, write{query, args})
	if len(l.pending) >= laterPiece {
		l.hand()
	}
}

func (l *Later) hand() {
	if len(l.pending) > 0 {
		l.written.Add(1)
		l.pieces <- l.pending
		l.pending = nil
	}
}

// settle waits until all deferred writes are executed. It returns the error of the first one that
// has failed.
func (l *Later) settle() error {
	l.hand()
	l.written.Wait()
	return l.err
}

// Begin enables deferred writes for a transaction, until End is called.
func (l *Later) Begin() { l.on, l.err = true, nil }

// End waits until the deferred writes of a transaction are executed, and disables deferred writes.
// It returns the error of the first write that has failed. It does nothing if Begin was not called
// for the transaction.
func (l *Later) End() error {
	if l == nil || !l.on {
		return nil
	}
	err := l.settle()
	l.on, l.err = false, nil
	return err
}

// Close ends the goroutine that executes deferred writes.
func (l *Later) Close() {
	close(l.pieces)
	<-l.ended
}
