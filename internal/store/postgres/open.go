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
	"github.com/perdure/perdure/internal/store/relational"
	"github.com/perdure/perdure/internal/store/turns"
)

const (
	// maxCommitters are enough for many cores: they take turns with the disk. More
	// than there are cores only make the batches smaller.
	maxCommitters  = 4
	defaultReaders = 16
)

// Options say how a store is opened. The zero value of every field but URL
// works.
type Options struct {
	// URL names the database: postgres://user:password@host/name?settings, as
	// libpq reads it. The database must be there, with UTF8 as its encoding.
	URL string
	// Committers is how many connections write; by default one for each core, at
	// least 2 and at most 4. Readers is how many read at most; default 16.
	Committers, Readers int
	// Clock replaces the database's own time, for tests.
	Clock  func() time.Time
	Logger *slog.Logger
	// Fatal is told, once, when the database turns out to be another one than was
	// opened: restored, or failed over to a standby. The process should end and
	// start again; the store writes no more.
	Fatal func(error)
	// Observer is told what the committers do; may be nil.
	Observer *store.Observer
	// Plain turns off what is there for speed alone: texts are neither indexed nor looked
	// for in the index.
	Plain bool
	// AllowOff names those of [Settings] that may be off when the store is opened.
	AllowOff []string
}

// Store is a PostgreSQL database.
type Store struct {
	relational.Reader
	db         *database
	pool       *pgxpool.Pool
	turns      *turns.Turns // at the pool's connections
	clock      *clock
	committers []*committer
	closing    sync.Once
	closed     error
	stop       chan struct{}  // closed by Close
	watching   sync.WaitGroup // watchSettings, filler
	filler     *relational.TextFiller
	stopFiller context.CancelFunc
}

var _ store.Store = (*Store)(nil)

// Open connects to the database and brings its tables up to date; several
// servers may do so at once. Errors: conflict if a newer version of the program
// has written it, unavailable if it cannot be reached, invalid_argument if one of
// [Settings] is off.
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
	s.Reader = relational.Reader{Tx: s.read, Clock: s.clock.Now, Words: words, Plain: o.Plain}
	for range o.Committers {
		queue := commit.NewQueue()
		queue.Observer = o.Observer
		c := &committer{
			Queue: queue, id: uuid.New(), db: s.db, clock: s.clock, logger: o.Logger, ended: make(chan struct{}),
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

// fill indexes texts in the background.
func (s *Store) fill(ctx context.Context) {
	s.filler = relational.NewTextFiller(&s.Reader, func(ctx context.Context, c store.Command) ([]any, error) {
		return s.committerOf(&c).Do(ctx, c)
	})
	ctx, s.stopFiller = context.WithCancel(context.WithoutCancel(ctx))
	if !s.Plain {
		s.watching.Go(func() { s.filler.Run(ctx) })
	}
}

// staleCommitter is how long after its last transaction a committer's row is of
// no use to anyone.
const staleCommitter = 7 * 24 * time.Hour

// learn reads the database's epoch and time, and tidies up after servers that
// have not.
func (s *Store) learn(ctx context.Context) error {
	conn, err := s.db.connect(ctx)
	if err != nil {
		return unreachable(err)
	}
	defer func() { _ = conn.Close(ctx) }() // what was asked for is there
	epoch, err := readEpoch(ctx, conn)
	if err != nil {
		return err
	}
	s.db.epoch.Store(epoch)
	var micros int64
	if err := conn.QueryRow(ctx, timeNow).Scan(&micros); err != nil {
		return err
	}
	s.clock.set(micros)
	_, err = conn.Exec(ctx, "DELETE FROM committer WHERE seen_at < $1", s.clock.Now().Add(-staleCommitter).UnixMilli())
	return err
}

// read runs a read that sees one moment. Whatever fails comes back as a coded
// error, except the context's end.
func (s *Store) read(ctx context.Context, read func(c relational.Conn) error) error {
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
	defer release(conn)
	err = read(&plain{conn: conn.Conn(), first: []statement{{query: "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"}}})
	if conn.Conn().IsClosed() && err != nil {
		if errors.Is(err, errSilent) {
			s.pool.Reset() // what is idle has died of the same
		}
		err = lost(err)
	}
	if err != nil && ctx.Err() != nil {
		return ctx.Err()
	}
	return refusal(err)
}

// release ends the transaction that a connection may be in, and gives it back to
// its pool. The reader need not wait for that; Close of the pool does.
func release(conn *pgxpool.Conn) {
	if conn.Conn().IsClosed() || conn.Conn().PgConn().TxStatus() == 'I' {
		conn.Release()
		return
	}
	go func() {
		defer conn.Release()
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_, _ = conn.Exec(ctx, "ROLLBACK") // if it fails, the pool closes the connection
	}()
}

// Do implements [store.Store].
func (s *Store) Do(ctx context.Context, c store.Command) ([]any, error) {
	s.filler.Called()
	return s.committerOf(&c).Do(ctx, c)
}

// Tidy implements [store.Store]. Nothing is put off.
func (s *Store) Tidy(context.Context) error { return nil }

// committerOf returns the committer of an execution, so that its commands keep
// their order. Picks of one org go to the same one: they would be in each
// other's way.
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

// Close commits what is queued and closes the connections.
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
	s.pool.Reset() // what is idle may have died
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if _, err := s.pool.Exec(ctx, "DELETE FROM committer WHERE id = ANY($1)", ids); err != nil && codeOf(err) != "" {
		return refusal(err)
	}
	return nil
}

// makeStore returns the store its row, once.
func makeStore(ctx context.Context, conn *pgx.Conn) error {
	var random [8]byte
	rand.Read(random[:]) // never fails
	_, err := conn.Exec(ctx, "INSERT INTO store (id, epoch, created_at) VALUES (1, $1, (extract(epoch FROM now()) * 1000)::bigint) ON CONFLICT (id) DO NOTHING",
		int64(binary.BigEndian.Uint64(random[:])))
	return err
}

// checkServer refuses what the store cannot work with.
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
