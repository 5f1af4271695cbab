package postgres

import (
	"context"
	"net"
	"net/url"
	"os"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/e2e/chaos"
	"github.com/perdure/perdure/internal/store"
)

// openBehind opens a store whose connections go through a proxy. If a connection gets no answer for
// 50 ms, the store checks whether the database still works on the request.
func openBehind(t *testing.T) (s *Store, proxy *chaos.Proxy, database string) {
	t.Helper()
	database = emptyDatabase(t)
	u, err := url.Parse(database)
	if err != nil {
		t.Fatal(err)
	}
	if proxy, err = chaos.Listen("127.0.0.1:0", u.Host); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { proxy.Close() })
	u.Host = proxy.Addr()
	s = open(t, Options{without: optimizations{texts: true}, URL: u.String(), Logger: quiet, Committers: 1})
	s.db.doubt = 50 * time.Millisecond
	return s, proxy, database
}

// TestDeadConnectionsAreGivenUp checks that reads and writes without a deadline end when all
// connections die silently, as after the failover of an address. The next reads and writes must
// succeed over new connections.
func TestDeadConnectionsAreGivenUp(t *testing.T) {
	s, proxy, _ := openBehind(t)
	id := begin(t, s)
	if _, err := s.LogHead(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	for s.pool.Stat().AcquiredConns() > 0 { // wait for the end of the read's transaction
		runtime.Gosched()
	}
	if n := proxy.HalfOpen(); n < 2 {
		t.Fatalf("there were %d connections, not one that writes and one that reads", n)
	}
	// This read has no deadline, like the reads of the server's loops.
	if _, err := s.LogHead(context.Background(), id); !perdure.IsCode(err, perdure.Unavailable) {
		t.Errorf("a read over a dead connection: %v", err)
	}
	if _, err := s.LogHead(context.Background(), id); err != nil {
		t.Errorf("a read after it: %v", err)
	}
	if err := note(context.Background(), s, id, uuid.New()); err != nil {
		t.Errorf("a write over a dead connection: %v", err)
	}
	noted(t, s, id, 1)
}

// TestDeadInTheMiddleOfATransaction checks that a command runs once if its connection dies in the
// middle of the transaction. The process of that connection and its locks must disappear. The
// command must then run over another connection.
func TestDeadInTheMiddleOfATransaction(t *testing.T) {
	s, proxy, database := openBehind(t)
	id := begin(t, s)
	times := 0
	_, err := do(t.Context(), s, id, store.Needs{}, func(s *store.State) (*store.Changes, error) {
		if times++; times == 1 {
			proxy.HalfOpen()
		}
		s.Execution.Version++
		return &store.Changes{Execution: s.Execution}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if x, err := s.Execution(t.Context(), org, id); err != nil || x.Version != 2 || times != 2 {
		t.Errorf("the version is %d after %d tries, %v", x.Version, times, err)
	}
	var left int
	observer := open(t, Options{without: optimizations{texts: true}, URL: database})
	const asked = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND state LIKE 'idle in transaction%'"
	if err := observer.pool.QueryRow(t.Context(), asked).Scan(&left); err != nil || left != 0 {
		t.Errorf("%d transactions are left open, %v", left, err)
	}
}

// muteConn is a connection that can drop the answers of the database. After `armed` is set, the
// next write is sent, and all answers after it are dropped.
type muteConn struct {
	net.Conn
	armed, muted *atomic.Bool // armed: become muted with the next bytes that are sent
	own          atomic.Bool
}

func (m *muteConn) Write(b []byte) (int, error) {
	if m.armed.CompareAndSwap(true, false) {
		m.own.Store(true)
		m.muted.Store(true)
	}
	return m.Conn.Write(b)
}

func (m *muteConn) Read(b []byte) (int, error) {
	n, err := m.Conn.Read(b)
	for m.own.Load() && err == nil {
		n, err = m.Conn.Read(b) // waits until the deadline, which is not a network error
	}
	return n, err
}

// TestTheAnswerToACommitDoesNotArrive checks that a command runs once, and that its caller gets the
// outcome, if the answer to the COMMIT is lost without an error.
func TestTheAnswerToACommitDoesNotArrive(t *testing.T) {
	var armed, muted atomic.Bool
	s := open(t, Options{without: optimizations{texts: true}, Logger: quiet, Committers: 1})
	s.db.doubt = 50 * time.Millisecond
	s.db.open = func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := openConn(ctx, network, addr)
		return &muteConn{Conn: conn, armed: &armed, muted: &muted}, err
	}
	id := begin(t, s)
	times := 0
	raise := func(arm bool) ([]any, error) {
		times = 0
		return do(t.Context(), s, id, store.Needs{}, func(s *store.State) (*store.Changes, error) {
			times++
			armed.Store(arm && times == 1)
			s.Execution.Version++
			return &store.Changes{Execution: s.Execution, Answer: s.Execution.Version}, nil
		})
	}
	if _, err := raise(false); err != nil { // this call prepares the statements
		t.Fatal(err)
	}
	answers, err := raise(true)
	if err != nil || !muted.Load() {
		t.Fatal(err)
	}
	x, err := s.Execution(t.Context(), org, id)
	if err != nil || x.Version != 3 || answers[0] != x.Version || times != 1 {
		t.Errorf("the version is %d, the answer %v after %d tries, %v", x.Version, answers, times, err)
	}
}

// TestSlowStatementIsNotADeadConnection checks that a connection is not considered dead during a
// statement of 2 s, even if the database is asked after each silent millisecond whether it still
// works on the statement.
func TestSlowStatementIsNotADeadConnection(t *testing.T) {
	s := open(t, Options{without: optimizations{texts: true}, Logger: quiet})
	s.db.doubt = time.Millisecond
	var slept string
	if err := s.pool.QueryRow(context.Background(), "SELECT pg_sleep(2)::text").Scan(&slept); err != nil {
		t.Errorf("a statement that takes longer than the doubt: %v", err)
	}
}

// TestUnreachableDatabaseIsADeadConnection checks that a read without a deadline returns unavailable
// while nothing arrives from the database. The next read must succeed when the database can be
// reached again.
func TestUnreachableDatabaseIsADeadConnection(t *testing.T) {
	s, proxy, _ := openBehind(t)
	id := begin(t, s)
	if _, err := s.LogHead(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	proxy.Set(chaos.Rule{HoldDown: true})
	if _, err := s.LogHead(context.Background(), id); !perdure.IsCode(err, perdure.Unavailable) {
		t.Errorf("a read while nothing arrives: %v", err)
	}
	proxy.Set(chaos.Rule{})
	if _, err := s.LogHead(context.Background(), id); err != nil {
		t.Errorf("a read after it: %v", err)
	}
}

// TestWritesKeepTheirDeadline checks that a write whose bytes nobody receives ends at the deadline
// that the caller has set. A write without a deadline must transfer all bytes, in pieces.
func TestWritesKeepTheirDeadline(t *testing.T) {
	here, there := net.Pipe()
	defer there.Close()
	w := &watchedConn{Conn: here, database: &database{silence: time.Hour, doubt: time.Millisecond}}
	defer w.Close()
	if err := w.SetWriteDeadline(time.Now().Add(20 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(make([]byte, 10)); !os.IsTimeout(err) {
		t.Errorf("a write that nobody takes: %v", err)
	}
	if err := w.SetWriteDeadline(time.Time{}); err != nil {
		t.Fatal(err)
	}
	done := make(chan error)
	go func() {
		_, err := w.Write([]byte("whole"))
		done <- err
	}()
	for _, want := range "whole" {
		b := make([]byte, 1)
		if _, err := there.Read(b); err != nil || b[0] != byte(want) {
			t.Errorf("%q arrives, %v", b, err)
		}
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}
