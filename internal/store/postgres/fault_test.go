package postgres

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/internal/store/postgres/cluster"
	"github.com/perdure/perdure/internal/store/storetest/invariants"
)

var quiet = slog.New(slog.DiscardHandler)

// cutConn is a connection that can be cut.
type cutConn struct {
	net.Conn
	*cut
}

// cut determines what happens to the next bytes that are sent over a cutConn.
type cut struct {
	armed  atomic.Bool
	arrive bool // the bytes arrive, but the answer to them is lost
	hits   atomic.Int32
}

func (c cutConn) Write(b []byte) (int, error) {
	if !c.armed.CompareAndSwap(true, false) {
		return c.Conn.Write(b)
	}
	c.hits.Add(1)
	if c.arrive {
		if _, err := c.Conn.Write(b); err != nil {
			return 0, err
		}
		if half, ok := c.Conn.(*net.TCPConn); ok {
			_ = half.CloseWrite() // the server reads all bytes before it sees the end
		}
	}
	return 0, errors.Join(errCut, c.Close())
}

var errCut = errors.New("the connection was cut")

// openCut opens a store whose connections go through a cutConn.
func openCut(t *testing.T, c *cut) *Store {
	t.Helper()
	s := open(t, Options{without: optimizations{texts: true}, Logger: quiet, Committers: 1})
	s.db.config.DialFunc = func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := (&net.Dialer{}).DialContext(ctx, network, addr)
		return cutConn{conn, c}, err
	}
	return s
}

// TestLostInTheMiddleOfACommit checks that a command runs once, and that its caller gets the
// outcome, if the connection is lost in the middle of the COMMIT, whether the transaction was
// committed or not.
func TestLostInTheMiddleOfACommit(t *testing.T) {
	for name, arrive := range map[string]bool{"before it arrives": false, "before its answer": true} {
		t.Run(name, func(t *testing.T) {
			c := &cut{arrive: arrive}
			s := openCut(t, c)
			id := begin(t, s)
			if err := note(t.Context(), s, id, uuid.New()); err != nil {
				t.Fatal(err)
			}
			const rounds = 10
			for range rounds {
				once := true
				answers, err := do(t.Context(), s, id, store.Needs{}, func(s *store.State) (*store.Changes, error) {
					x := s.Execution
					x.Version++
					c.armed.Store(once)
					once = false
					return &store.Changes{Execution: x, Answer: x.Version}, nil
				})
				if err != nil {
					t.Fatal(err)
				}
				x, err := s.Execution(t.Context(), org, id)
				if err != nil || answers[0] != x.Version {
					t.Errorf("the answer is %v, stored is %d, %v", answers, x.Version, err)
				}
			}
			x, err := s.Execution(t.Context(), org, id)
			if err != nil || x.Version != 2+rounds || c.hits.Load() != rounds {
				t.Errorf("the version is %d after %d changes and %d cuts, %v", x.Version, rounds, c.hits.Load(), err)
			}
		})
	}
}

// TestALostCommitOfACommitterWithoutARow checks a COMMIT that is lost before it arrives, while the
// committer's row is missing, as after a week without a write. The transaction must not count as
// committed.
func TestALostCommitOfACommitterWithoutARow(t *testing.T) {
	c := &cut{}
	s := openCut(t, c)
	id := begin(t, s)
	for n := range int64(3) {
		execute(t, s.db.config.ConnString(), "DELETE FROM committer")
		s.db.history.note(s.committers[0].id, 1, time.Now().Add(-staleCommitter))
		once := true
		_, err := do(t.Context(), s, id, store.Needs{}, func(st *store.State) (*store.Changes, error) {
			c.armed.Store(once)
			once = false
			st.Execution.Version++
			return &store.Changes{Execution: st.Execution}, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if x, err := s.Execution(t.Context(), org, id); err != nil || x.Version != 2+n {
			t.Errorf("the version is %d after %d changes, %v", x.Version, n+1, err)
		}
	}
}

// TestCommittersThatHaveNotWrittenAreKept checks that a starting server deletes the rows of stale
// committers, but not the row of a committer that has not written yet.
func TestCommittersThatHaveNotWrittenAreKept(t *testing.T) {
	s := open(t, Options{without: optimizations{texts: true}, Committers: 1})
	if _, err := do(t.Context(), s, uuid.New(), store.Needs{}, func(*store.State) (*store.Changes, error) { return nil, nil }); err != nil {
		t.Fatal(err)
	}
	open(t, Options{without: optimizations{texts: true}, URL: s.db.config.ConnString()})
	var rows int
	if err := s.pool.QueryRow(t.Context(), "SELECT count(*) FROM committer WHERE id = $1", s.committers[0].id).Scan(&rows); err != nil || rows != 1 {
		t.Errorf("the committer has %d rows, %v", rows, err)
	}
}

// concurrentNotes calls the function `note` from many goroutines, for a few executions, while the
// function `disturb` is running. Each goroutine repeats its call until the call succeeds. No entry
// may be lost or stored twice.
func concurrentNotes(t *testing.T, all []*Store, each int, disturb func(noted <-chan struct{})) {
	t.Helper()
	ids := []uuid.UUID{begin(t, all[0]), begin(t, all[0]), begin(t, all[0])}
	done, disturbed := make(chan struct{}, 12*each), make(chan struct{})
	go func() { defer close(disturbed); disturb(done) }()
	var wg sync.WaitGroup
	for i := range 12 {
		wg.Go(func() {
			for n := range each {
				id := uuid.New()
				for tries := 0; ; tries++ {
					err := note(t.Context(), all[(i+n+tries)%len(all)], ids[(i+n)%3], id)
					if err == nil {
						done <- struct{}{}
						break
					}
					if !perdure.IsCode(err, perdure.Unavailable) || tries > 100 {
						t.Errorf("a write: %v", err)
						return
					}
				}
			}
		})
	}
	wg.Wait()
	close(done)
	<-disturbed
	total := int64(0)
	for _, id := range ids {
		x, err := all[0].Execution(t.Context(), org, id)
		if err != nil {
			t.Fatal(err)
		}
		if x.Version != x.EntryCount+1 || x.MaxSeq != x.Version {
			t.Errorf("%d notes are counted, %d entries stored, the seq is %d", x.Version-1, x.EntryCount, x.MaxSeq)
		}
		total += x.EntryCount
	}
	if total != int64(12*each) {
		t.Errorf("%d notes were answered, %d are stored", 12*each, total)
	}
}

// TestLostConnectionsLoseNothing checks that no entry is lost or stored twice while random
// connections are terminated in the database and many callers write.
func TestLostConnectionsLoseNothing(t *testing.T) {
	url := emptyDatabase(t)
	all := []*Store{open(t, Options{without: optimizations{texts: true}, URL: url, Logger: quiet}), open(t, Options{Plain: true, URL: url, Logger: quiet})}
	var ended atomic.Int64
	concurrentNotes(t, all, 40, func(noted <-chan struct{}) {
		conn, err := pgx.Connect(context.WithoutCancel(t.Context()), url)
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close(context.WithoutCancel(t.Context()))
		patience := 0
		for range noted {
			if patience--; patience > 0 {
				continue
			}
			patience = rand.IntN(15) // the pauses let some commands succeed
			var n int64
			err := conn.QueryRow(context.WithoutCancel(t.Context()), "SELECT count(pg_terminate_backend(pid)) FROM (SELECT pid FROM pg_stat_activity"+
				" WHERE datname = current_database() AND pid <> pg_backend_pid() ORDER BY random() LIMIT $1) AS chosen", 1+rand.IntN(2)).Scan(&n)
			if err != nil {
				t.Error(err)
				return
			}
			ended.Add(n)
		}
	})
	if ended.Load() == 0 {
		t.Error("no connection was ended")
	}
	invariants.Check(t, open(t, Options{without: optimizations{texts: true}, URL: url}))
}

// TestDatabaseRestartsInTheMiddle checks that no entry is lost or stored twice if the database
// crashes in the middle of writes, and later restarts cleanly. Fatal must not be called.
func TestDatabaseRestartsInTheMiddle(t *testing.T) {
	server, err := cluster.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
	})
	s := open(t, Options{without: optimizations{texts: true}, URL: server.URL("postgres"), Logger: quiet})
	other := open(t, Options{Plain: true, URL: server.URL("postgres"), Logger: quiet})
	concurrentNotes(t, []*Store{s, other}, 60, func(noted <-chan struct{}) {
		for _, signal := range []syscall.Signal{syscall.SIGQUIT, syscall.SIGINT} {
			for range 50 {
				<-noted
			}
			if err := server.Restart(signal); err != nil {
				t.Error(err)
			}
		}
	})
	invariants.Check(t, s)
	if s.db.gone.Load() || other.db.gone.Load() {
		t.Error("a restart was taken for another history")
	}
}

// TestHeldExecutionsWaitAlone checks the commands of an execution that another transaction has
// locked. They must succeed, in order, once that transaction has ended. A command of another
// execution, sent to another server, must not wait.
func TestHeldExecutionsWaitAlone(t *testing.T) {
	for _, plain := range []bool{false, true} {
		heldExecutionsWaitAlone(t, open(t, Options{Plain: plain, without: optimizations{texts: true}, Committers: 1}))
	}
}

func heldExecutionsWaitAlone(t *testing.T, s *Store) {
	held, free := begin(t, s), begin(t, s)
	conn, err := pgx.ConnectConfig(t.Context(), s.db.config.Copy())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.WithoutCancel(t.Context()))
	if _, err := conn.Exec(t.Context(), "BEGIN"); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Exec(t.Context(), "SELECT 1 FROM agent_execution WHERE id = $1 FOR UPDATE", held[:]); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	var mu sync.Mutex
	var order []int
	for i := range 5 {
		queued := make(chan struct{})
		wg.Go(func() {
			ctx := queueingContext{t.Context(), sync.OnceFunc(func() { close(queued) })}
			_, err := do(ctx, s, held, store.Needs{}, func(st *store.State) (*store.Changes, error) {
				mu.Lock()
				defer mu.Unlock()
				order = append(order, i)
				st.Execution.Version++
				return &store.Changes{Execution: st.Execution}, nil
			})
			if err != nil {
				t.Error(err)
			}
		})
		<-queued
	}
	if err := note(t.Context(), open(t, Options{without: optimizations{texts: true}, URL: s.db.config.ConnString()}), free, uuid.New()); err != nil {
		t.Errorf("another execution's command: %v", err)
	}
	if _, err := conn.Exec(t.Context(), "COMMIT"); err != nil {
		t.Fatal(err)
	}
	wg.Wait()
	x, err := s.Execution(t.Context(), org, held)
	if err != nil || x.Version != 6 {
		t.Errorf("the version is %d, %v", x.Version, err)
	}
	for i, n := range order[len(order)-5:] {
		if i != n {
			t.Errorf("the order is %v", order)
		}
	}
}

// queueingContext is a context whose method Done calls the function `waits`. Store.Do calls Done
// after it has queued the command, so `waits` tells the test that the command is queued.
type queueingContext struct {
	context.Context
	waits func()
}

func (q queueingContext) Done() <-chan struct{} {
	q.waits()
	return q.Context.Done()
}
