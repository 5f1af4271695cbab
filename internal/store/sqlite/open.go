package sqlite

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/disk"
	"github.com/perdure/perdure/internal/pagecheck"
	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/internal/store/commit"
	"github.com/perdure/perdure/internal/store/sql/cache"
	"github.com/perdure/perdure/internal/store/sql/read"
	"github.com/perdure/perdure/internal/store/sql/read/base"
	"github.com/perdure/perdure/internal/store/sqlite/clock"
	"github.com/perdure/perdure/internal/store/sqlite/connection"
	"github.com/perdure/perdure/internal/store/sqlite/lock"
	_ "modernc.org/sqlite" // the driver "sqlite"
	lib "modernc.org/sqlite/lib"
)

// Options are the options for opening a store. Only Path is required.
type Options struct {
	// Path is the path of the database file. If the file does not exist, Open creates it.
	Path string
	// Clock returns the store's time. By default, the store's time starts with the machine's clock
	// when the store is opened, and advances with the elapsed time. It does not jump when the
	// machine's clock is set.
	Clock  func() time.Time
	Logger *slog.Logger
	// Fatal is called once, when the outcome of a write is unknown or the file is damaged. The
	// process should then end, because the store no longer writes. Fatal must return, and must not
	// call Close, because the committer may be what calls Fatal.
	Fatal func(error)
	// MaxPages is the maximum size of the file in pages of 4 KiB. When it is reached, the disk
	// counts as full. 0 means no limit.
	MaxPages int
	// Reserve makes the store reserve disk space with a file beside the database. When the disk is
	// full, the store releases that space.
	Reserve bool
	// Observer is notified of the committer's batches. It may be nil.
	Observer *store.Observer
	// CheckBeside matters for a file that was not closed cleanly: Open then returns before the
	// whole file is checked. The caller must then call Store.CheckBeside, which checks the file and
	// calls Fatal if it finds damage. Without CheckBeside, Open waits for the check.
	CheckBeside bool
	// pause, if set, is called by Store.CheckBeside between two pieces of the check, instead of
	// [rest].
	pause func(ctx context.Context, took time.Duration) error
	// Plain turns off every optimization of the store: see [optimizations]. Results, errors, order
	// and durability stay the same. A file may be opened with Plain once and without it another
	// time.
	Plain bool
	// without lists single optimizations that are turned off in tests.
	without optimizations
	// laterFrom is used instead of the constant [laterFrom], in tests.
	laterFrom int
}

// Store is a store in a SQLite database.
type Store struct {
	read.Reader
	pool      *connection.Pool
	committer *committer
	path      string
	epoch     uint64
	soundness *soundness
	lock      *lock.File
	filler    *read.TextFiller
	stop      context.CancelFunc // stops the filler of the text index
	filling   sync.WaitGroup
	closing   sync.Once
	closed    error
}

var _ store.Store = (*Store)(nil)

// Open opens the database, checks it and migrates its tables. After a clean shutdown, the check
// covers the header, the schema and the last pages; otherwise see Options.CheckBeside. Errors:
// conflict if a newer version of the program has written the file, or if its rows were moved to
// another store; internal if the file is damaged; invalid_argument if it is the database of another
// program, which Open does not change.
func Open(ctx context.Context, o Options) (*Store, error) {
	o = o.normal()
	if err := finishReplacing(o.Path); err != nil {
		return nil, fmt.Errorf("open %s: %w", o.Path, err)
	}
	if err := refuseForeign(ctx, o.Path); err != nil {
		return nil, fmt.Errorf("open %s: %w", o.Path, err)
	}
	held, err := lockNew(o.Path)
	if err != nil {
		return nil, err
	}
	s, err := openLocked(ctx, o)
	if err != nil {
		return nil, errors.Join(err, held.Release())
	}
	s.lock = held
	return s, nil
}

// lockNew locks the file at path. If the file does not exist, lockNew creates it first.
func lockNew(path string) (*lock.File, error) {
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		if err := makeFile(path); err != nil {
			return nil, err
		}
	}
	return lock.Take(path)
}

func openLocked(ctx context.Context, o Options) (*Store, error) {
	reserve, err := openReserve(o)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", o.Path, err)
	}
	sound := &soundness{path: o.Path, mark: pagecheck.MarkOf(o.Path), logger: o.Logger, pause: o.pause}
	if err := sound.settle(reserve); err != nil {
		return nil, fmt.Errorf("open %s: %w", o.Path, err)
	}
	writer, err := openWriter(ctx, o)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", o.Path, connection.FullStart(openFailure(o.Path, damaged(o.Path, err))))
	}
	s, err := start(ctx, o, writer, reserve, sound)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open %s: %w", o.Path, connection.FullStart(err)), writer.Close())
	}
	return s, nil
}

func (o Options) normal() Options {
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.Clock == nil {
		o.Clock = clock.New(o.Logger).Now
	}
	if o.Fatal == nil {
		o.Fatal = func(error) {}
	}
	if o.pause == nil {
		o.pause = rest
	}
	if o.Plain {
		o.without = allOptimizations
	}
	return o
}

// makeFile creates an empty file that only its owner can read, because it will contain
// conversations.
func makeFile(path string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	return f.Close()
}

func openWriter(ctx context.Context, o Options) (*connection.Conn, error) {
	var pragmas []string
	if size, err := os.Stat(o.Path); err == nil && size.Size() == 0 {
		// This pragma is only for an empty file. In other files it would have no effect, but make
		// SQLite write.
		pragmas = append(pragmas, "auto_vacuum(incremental)")
	}
	pragmas = append(pragmas,
		// SQLite's page cache is small: one large write would fill a cache of any size, and the
		// operating system caches the file as well.
		"journal_mode(wal)", "synchronous(full)", "journal_size_limit(67108864)", "cache_size(-4096)",
		// Deleted data is overwritten with zeros, because some data must not stay in the file.
		"secure_delete(1)",
	)
	if o.MaxPages > 0 {
		pragmas = append(pragmas, fmt.Sprintf("max_page_count(%d)", o.MaxPages))
	}
	return connection.Open(ctx, o.Path, connection.Writing, pragmas...)
}

func start(ctx context.Context, o Options, writer *connection.Conn, reserve *disk.Reserve, sound *soundness) (*Store, error) {
	if err := sound.start(ctx, writer.With(ctx), !o.CheckBeside); err != nil {
		return nil, err
	}
	if err := checkPlace(writer.With(ctx)); err != nil {
		return nil, err
	}
	if err := migrate(ctx, o.Path, writer.With(ctx)); err != nil {
		return nil, err
	}
	epoch, err := loadEpoch(writer.With(ctx), o)
	if err != nil {
		return nil, err
	}
	if !o.without.logLayer {
		// GatherLog requires an open log. The writer's first transaction has made SQLite open it.
		if err := writer.GatherLog(); err != nil {
			return nil, err
		}
	}
	pool, err := connection.OpenPool(ctx, o.Path, connection.PoolSize())
	if err != nil {
		return nil, err
	}
	c, err := startCommitter(ctx, o, writer, reserve)
	if err != nil {
		return nil, errors.Join(err, pool.Close())
	}
	sound.found = c.foundDamage
	s := &Store{
		Reader:    read.New(base.Source{Tx: pool.ReadRows, Clock: o.Clock, Dialect: dialect, WithoutTexts: o.without.texts}),
		pool:      pool,
		committer: c,
		path:      o.Path,
		epoch:     epoch,
		soundness: sound,
	}
	s.fill(ctx)
	return s, nil
}

// fill starts to index texts in the background.
func (s *Store) fill(ctx context.Context) {
	s.filler = read.NewTextFiller(&s.Reader, s.committer.Queue.Do)
	ctx, s.stop = context.WithCancel(context.WithoutCancel(ctx))
	if !s.WithoutTexts {
		s.filling.Go(func() { s.filler.Run(ctx) })
	}
}

func startCommitter(ctx context.Context, o Options, writer *connection.Conn, reserve *disk.Reserve) (*committer, error) {
	queue := commit.NewQueue()
	queue.Observer, queue.Plain = o.Observer, o.without.batches
	c := &committer{
		Queue: queue, conn: writer, clock: o.Clock, logger: o.Logger, fatal: o.Fatal, commit: commitNow, ended: make(chan struct{}),
		path: o.Path, walLimit: walLimit, checkpointAt: checkpointFrom(reserve), checkpointsHere: o.without.checkpointer, reserve: reserve, laterFrom: cmp.Or(o.laterFrom, laterFrom),
	}
	if !o.without.kept {
		c.cache = cache.NewRowCache(0)
	}
	var err error
	if c.checkpointer, err = openCheckpointer(ctx, o.Path, c); err != nil {
		return nil, err
	}
	writer.CountLog()
	if reserve != nil {
		c.makeRoom()
	}
	if !o.without.later {
		writer.StartLater()
	}
	go c.checkpointer.run()
	go c.run()
	return c, nil
}

// check runs SQLite's quick_check on the whole file at path. It returns an error with code internal if the
// file is damaged.
func check(ctx context.Context, path string, c *connection.Conn) error {
	var verdict string
	_, err := c.With(ctx).One("PRAGMA quick_check(1)", nil, &verdict)
	if err == nil && verdict != "ok" {
		return damage(path, errors.New(verdict))
	}
	return damaged(path, err)
}

const damageText = "the database is damaged; restore it from a backup"

// damage returns an error with code internal for the damaged file at path. Clients of the API see
// the message, so it does not contain the path.
func damage(path string, err error) error {
	return &perdure.Error{Code: perdure.Internal, Message: damageText, Err: fmt.Errorf("%s: %w", path, err)}
}

// damaged returns an error with code internal if err means that the file at path is not an intact
// database. It returns other errors unchanged.
func damaged(path string, err error) error {
	switch connection.ResultCode(err) {
	case lib.SQLITE_CORRUPT, lib.SQLITE_NOTADB:
		return damage(path, err)
	}
	return err
}

// loadEpoch returns the store's epoch. In a new store it creates the epoch. If the file was restored
// or copied, it renews the epoch.
func loadEpoch(v connection.View, o Options) (epoch uint64, err error) {
	_, err = v.Run("INSERT INTO store (id, epoch, created_at) VALUES (1, ?, ?) ON CONFLICT (id) DO NOTHING",
		randomEpoch(), perdure.At(o.Clock()).UnixMilli())
	if err != nil {
		return 0, err
	}
	if err := noticeRestore(v, o.Path); err != nil {
		return 0, err
	}
	var stored int64
	_, err = v.One("SELECT epoch FROM store WHERE id = 1", nil, &stored)
	return uint64(stored), err
}

// Do implements [store.Store].
func (s *Store) Do(ctx context.Context, c store.Command) ([]any, error) {
	s.filler.Called()
	return s.committer.Queue.Do(ctx, c)
}

// Tidy implements [store.Store]. It also removes erased data from the write-ahead log.
func (s *Store) Tidy(ctx context.Context) error {
	if !s.committer.erased.Load() {
		return nil
	}
	_, err := s.Do(ctx, store.Command{
		Name: "tidy", Lane: store.LaneSweeps, Frees: true,
		Decide: func(*store.State) (*store.Changes, error) { return nil, nil },
	})
	// The committer answers the command before it resets the log, and holds the mutex `deciding`
	// until the log is reset. So locking that mutex waits for the reset.
	s.committer.deciding.Lock()
	defer s.committer.deciding.Unlock()
	return err
}

// Audit does what the Audit of [read.Reader] does, and also checks that the committer's cached rows
// equal the stored rows.
func (s *Store) Audit(ctx context.Context) iter.Seq2[uuid.UUID, error] {
	return func(yield func(uuid.UUID, error) bool) {
		if err := s.committer.audit(ctx); err != nil && !yield(uuid.Nil, err) {
			return
		}
		s.Reader.Audit(ctx)(yield)
	}
}

// Epoch implements [store.Store].
func (s *Store) Epoch() uint64 { return s.epoch }

// Close commits the queued commands and closes the file. It leaves the file of a failed store as it
// is, for the next Open to recover.
func (s *Store) Close() error {
	s.closing.Do(func() { s.closed = errors.Join(s.close(), s.lock.Release()) })
	return s.closed
}

func (s *Store) close() error {
	s.soundness.end()
	s.stop()
	s.filling.Wait()
	s.committer.Close()
	<-s.committer.ended
	err := s.committer.checkpointer.close()
	if s.committer.brokenErr() != nil {
		// The file of a failed store must remain as it is. The last connection to be closed would
		// checkpoint the log into the file, unless it is read-only, so the readers are closed last.
		return errors.Join(err, s.committer.conn.Close(), s.pool.Close())
	}
	if err := errors.Join(err, s.pool.Close(), s.committer.conn.Close()); err != nil {
		return err
	}
	return s.soundness.closed()
}
