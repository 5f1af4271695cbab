package postgres

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"log/slog"
	"runtime"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/internal/store/commit"
	"github.com/perdure/perdure/internal/store/postgres/pipe"
	"github.com/perdure/perdure/internal/store/sql/read"
	"github.com/perdure/perdure/internal/store/sql/read/base"
	"github.com/perdure/perdure/internal/store/sql/statement"
	"github.com/perdure/perdure/internal/store/turns"
)

const (
	// maxCommitters is the maximum default of Options.Committers. Four committers are enough even
	// for many cores, because all of them wait for the same disk. More committers than cores only
	// make batches smaller.
	maxCommitters  = 4
	defaultReaders = 16
)

// Options are the options for opening a store. Only URL is required.
type Options struct {
	// URL is the URL of the database, in libpq's format:
	// postgres://user:password@host/name?settings. The database must exist and have the encoding
	// UTF8.
	URL string
	// Committers is the number of connections that write; the default is one per core, but at least
	// 2 and at most 4. Readers is the maximum number of connections that read; the default is 16.
	Committers, Readers int
	// Clock, if set, is used instead of the database's time, in tests.
	Clock  func() time.Time
	Logger *slog.Logger
	// Fatal is called once if the database is no longer the one that was opened, as after a restore
	// or a failover to a standby. The store then no longer writes, so the process should end and be
	// started again.
	Fatal func(error)
	// Observer is notified of the committers' batches and the database's settings. It may be nil.
	Observer *store.Observer
	// Plain turns off every optimization of the store: see [optimizations]. Results, errors, order
	// and durability stay the same. Servers with and without Plain may share a database.
	Plain bool
	// without lists single optimizations that are turned off in tests.
	without optimizations
	// AllowOff names the [Settings] that may be off when the store is opened.
	AllowOff []string
}

// Store is a store in a PostgreSQL database.
type Store struct {
	read.Reader
	db         *database
	pool       *pgxpool.Pool
	turns      *turns.Turns // distributes the connections of the pool among orgs
	clock      *clock
	committers []*committer
	// waitsForEnds makes a read return only after its transaction has ended.
	waitsForEnds bool

	closing    sync.Once
	closed     error
	stop       chan struct{}  // closed by Close
	watching   sync.WaitGroup // waits for watchSettings and the filler
	filler     *read.TextFiller
	stopFiller context.CancelFunc
}

var _ store.Store = (*Store)(nil)

// Open connects to the database and migrates its tables. Several servers may call Open at once.
// Errors: conflict if a newer version of the program has written the database; unavailable if the
// database cannot be reached; invalid_argument if one of [Settings] is off and not in AllowOff.
func Open(ctx context.Context, o Options) (*Store, error) {
	o = o.normal()
	if err := checkAllowed(o.AllowOff); err != nil {
		return nil, err
	}
	db, err := newDatabase(o.URL, o.Fatal)
	if err != nil {
		return nil, err
	}
	db.settings.logger, db.settings.told = o.Logger, o.Observer.SettingOff()
	if err := db.checkSettings(ctx, o.AllowOff); err != nil {
		return nil, err
	}
	if _, _, err := Migrate(ctx, o.URL); err != nil {
		return nil, err
	}
	s := &Store{db: db, turns: turns.New(o.Readers, max(2, o.Readers/4)), clock: &clock{fixed: o.Clock}, stop: make(chan struct{})}
	if err := s.start(ctx, o); err != nil {
		return nil, errors.Join(refusal(err), s.Close())
	}
	return s, nil
}

func (o Options) normal() Options {
	if o.Committers <= 0 {
		o.Committers = min(maxCommitters, max(2, runtime.GOMAXPROCS(0)))
	}
	if o.Readers <= 0 {
		o.Readers = defaultReaders
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.Fatal == nil {
		o.Fatal = func(error) {}
	}
	if o.Plain {
		o.without = allOptimizations
	}
	return o
}

func (s *Store) start(ctx context.Context, o Options) error {
	if err := s.learn(ctx); err != nil {
		return err
	}
	config, err := pgxpool.ParseConfig(o.URL)
	if err != nil {
		return err
	}
	config.ConnConfig = s.db.config.Copy()
	config.MaxConns, config.MinConns = int32(o.Readers), 0
	config.AfterConnect = func(ctx context.Context, conn *pgx.Conn) error {
		if _, err := s.db.meet(ctx, conn); err != nil {
			return err
		}
		return s.db.check(ctx, conn)
	}
	if s.pool, err = pgxpool.NewWithConfig(ctx, config); err != nil {
		return err
	}
	s.waitsForEnds = o.without.earlyReads
	s.Reader = read.New(base.Source{Tx: s.read, Clock: s.clock.Now, Dialect: dialect, WithoutTexts: o.without.texts})
	for range o.Committers {
		queue := commit.NewQueue()
		queue.Observer, queue.Plain = o.Observer, o.without.batches
		c := &committer{
			Queue: queue, id: uuid.New(), db: s.db, clock: s.clock, logger: o.Logger, ended: make(chan struct{}),
			dialect: dialect, inTurn: o.without.groups,
		}
		if c.inTurn {
			c.dialect = dialectInTurn
		}
		s.committers = append(s.committers, c)
		go c.run()
	}
	s.watching.Go(func() {
		ticks := time.NewTicker(settingsTime)
		defer ticks.Stop()
		s.watchSettings(ticks.C, s.stop)
	})
	s.fill(ctx)
	return nil
}

// fill starts to index texts in the background.
func (s *Store) fill(ctx context.Context) {
	s.filler = read.NewTextFiller(&s.Reader, func(ctx context.Context, c store.Command) ([]any, error) {
		return s.committerOf(&c).Do(ctx, c)
	})
	ctx, s.stopFiller = context.WithCancel(context.WithoutCancel(ctx))
	if !s.WithoutTexts {
		s.watching.Go(func() { s.filler.Run(ctx) })
	}
}

// staleCommitter is how long the row of a committer is kept after the committer's last transaction.
const staleCommitter = 7 * 24 * time.Hour

// learn reads the database's epoch and time. It also deletes the rows of committers that have not
// written for staleCommitter.
func (s *Store) learn(ctx context.Context) error {
	conn, err := s.db.connect(ctx)
	if err != nil {
		return unreachable(err)
	}
	defer func() { _ = conn.Close(ctx) }() // all results are read
	epoch, err := readEpoch(ctx, conn)
	if err != nil {
		return err
	}
	s.db.epoch.Store(epoch)
	var micros int64
	if err := conn.QueryRow(ctx, timeNow.Text()).Scan(&micros); err != nil {
		return err
	}
	s.clock.set(micros)
	_, err = conn.Exec(ctx, "DELETE FROM committer WHERE seen_at < $1", s.clock.Now().Add(-staleCommitter).UnixMilli())
	return err
}

// read calls its parameter with a connection that reads a consistent snapshot of the database. All
// returned errors have one of Perdure's codes, except the error of the context.
func (s *Store) read(ctx context.Context, read func(c statement.Conn) error) error {
	org := store.OrgOf(ctx)
	if err := s.turns.Take(ctx, org); err != nil {
		return err
	}
	defer s.turns.Leave(org)
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return unreachable(err)
	}
	defer s.release(conn)
	err = read(pipe.NewSequential(conn.Conn(), beginRead, false))
	if conn.Conn().IsClosed() && err != nil {
		if errors.Is(err, errSilent) {
			s.pool.Reset() // idle connections have probably died, too
		}
		err = lost(err)
	}
	if err != nil && ctx.Err() != nil {
		return ctx.Err()
	}
	return refusal(err)
}

// release ends the connection's transaction, if there is one, and returns the connection to its
// pool. Unless waitsForEnds is set, this happens in the background.
func (s *Store) release(conn *pgxpool.Conn) {
	if conn.Conn().IsClosed() || conn.Conn().PgConn().TxStatus() == 'I' {
		conn.Release()
		return
	}
	end := func() {
		defer conn.Release()
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_, _ = conn.Exec(ctx, "ROLLBACK") // if it fails, the pool closes the connection
	}
	if s.waitsForEnds {
		end()
	} else {
		go end()
	}
}

// Do implements [store.Store].
func (s *Store) Do(ctx context.Context, c store.Command) ([]any, error) {
	s.filler.Called()
	return s.committerOf(&c).Do(ctx, c)
}

// Tidy implements [store.Store]. It does nothing, because no work is deferred.
func (s *Store) Tidy(context.Context) error { return nil }

// committerOf returns the committer for a command. All commands of an execution go to the same
// committer, so that they remain in order. All picks (see [store.Pick]) of an org go to one
// committer, too, because picks in different committers would block each other.
func (s *Store) committerOf(c *store.Command) *committer {
	h := fnv.New32a()
	if c.Pick == nil && c.Execution != uuid.Nil {
		h.Write(c.Execution[:]) // never fails
	} else {
		h.Write([]byte(c.Org))
	}
	return s.committers[int(h.Sum32())%len(s.committers)]
}

// Epoch implements [store.Store].
func (s *Store) Epoch() uint64 { return s.db.epoch.Load() }

// Close commits the queued commands and closes the connections.
func (s *Store) Close() error {
	s.closing.Do(func() { s.closed = s.close() })
	return s.closed
}

func (s *Store) close() error {
	close(s.stop)
	if s.stopFiller != nil {
		s.stopFiller()
	}
	s.watching.Wait()
	var ids [][]byte
	for _, c := range s.committers {
		c.Close()
		ids = append(ids, c.id[:])
	}
	for _, c := range s.committers {
		<-c.ended
	}
	s.db.history.forget()
	if s.pool == nil {
		return nil
	}
	defer s.pool.Close()
	s.pool.Reset() // idle connections may have died
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if _, err := s.pool.Exec(ctx, "DELETE FROM committer WHERE id = ANY($1)", ids); err != nil && codeOf(err) != "" {
		return refusal(err)
	}
	return nil
}

// makeStore inserts the row that describes the store, unless it exists.
func makeStore(ctx context.Context, conn *pgx.Conn) error {
	var random [8]byte
	rand.Read(random[:]) // never fails
	_, err := conn.Exec(ctx, "INSERT INTO store (id, epoch, created_at) VALUES (1, $1, (extract(epoch FROM now()) * 1000)::bigint) ON CONFLICT (id) DO NOTHING",
		int64(binary.BigEndian.Uint64(random[:])))
	return err
}

// checkServer returns an error if the store cannot work with the database server.
func checkServer(ctx context.Context, conn *pgx.Conn) error {
	var version int
	var encoding string
	err := conn.QueryRow(ctx, "SELECT current_setting('server_version_num')::int, current_setting('server_encoding')").Scan(&version, &encoding)
	switch {
	case err != nil:
		return err
	case version < 150000:
		return perdure.Errorf(perdure.InvalidArgument, "the database is PostgreSQL %s; it has to be 15 or newer", fmt.Sprint(version/10000))
	case encoding != "UTF8":
		return perdure.Errorf(perdure.InvalidArgument, "the database's encoding is %s; it has to be UTF8", encoding)
	}
	return nil
}
