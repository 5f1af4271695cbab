package local

import (
	"context"
	"database/sql"
	"errors"
	"net/url"
	"os"
	"strings"
	"sync"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/disk"
	"github.com/perdure/perdure/internal/pagecheck"
	"github.com/perdure/perdure/internal/sqlitelog"
	lib "modernc.org/sqlite/lib"
)

const (
	maxGroup      = 256     // maximum number of writes in one transaction
	maxGroupBytes = 8 << 20 // approximate maximum number of bytes in one transaction
)

// writer runs all writes of a store, one after another. Writes that arrive during a transaction share the
// next transaction and its flush to disk.
type writer struct {
	db    *sql.DB
	raw   *sql.Conn
	stmts map[string]*sql.Stmt
	queue chan *write
	ended chan struct{}

	mu     sync.RWMutex // guards closed and the sends to queue
	closed bool
	broken error         // the error after which writing has stopped; set by run
	failed chan struct{} // closed when broken is set
	// reserve is a file that only occupies disk space. It is deleted when the disk is full, so that the
	// writer has some space. It may be nil.
	reserve  *disk.Reserve
	sound    *soundness
	walBytes int // approximate bytes in the write-ahead log since the last checkpoint
}

// write is a write that one caller waits for. The result is sent to the channel `done`.
type write struct {
	apply func(transaction) error
	size  int
	done  chan error
}

var schema = []string{
	`CREATE TABLE contents (id INTEGER PRIMARY KEY, ref BLOB NOT NULL UNIQUE, execution BLOB NOT NULL, sha BLOB NOT NULL, length INTEGER NOT NULL)`,
	`CREATE INDEX contents_of ON contents (execution)`,
	`CREATE TABLE chunks (id INTEGER PRIMARY KEY, bytes BLOB NOT NULL)`,
	`CREATE TABLE names (execution BLOB NOT NULL, name TEXT NOT NULL, sha BLOB NOT NULL, PRIMARY KEY (execution, name)) WITHOUT ROWID`,
	`CREATE TABLE shown (
		id INTEGER PRIMARY KEY, execution BLOB NOT NULL, source BLOB NOT NULL, block INTEGER NOT NULL, at INTEGER NOT NULL,
		sha BLOB NOT NULL, text BLOB NOT NULL, UNIQUE (execution, source, block, at))`,
	`CREATE INDEX shown_by_hash ON shown (execution, sha)`,
	`PRAGMA user_version = 1`,
}

const schemaVersion = 1

func dsn(path string, query url.Values) string {
	query.Add("_pragma", "busy_timeout(10000)")
	escaped := strings.NewReplacer("%", "%25", "?", "%3f", "#", "%23").Replace(path)
	return "file:" + escaped + "?" + query.Encode()
}

func openWriter(path string, before bool) (*writer, error) {
	// The file contains conversations, so only the user of this process may read it.
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := f.Close(); err != nil {
		return nil, err
	}
	reserve, err := disk.NewReserve(path + ".reserve")
	if err != nil {
		return nil, err
	}
	sound := &soundness{path: path, mark: pagecheck.MarkOf(path)}
	if err := sound.settle(reserve); err != nil {
		return nil, err
	}
	// auto_vacuum must be set before the first table is created.
	db, err := sql.Open("sqlite", dsn(path, url.Values{"_pragma": {
		"auto_vacuum(incremental)", "journal_mode(wal)", "synchronous(full)", "secure_delete(on)",
		"wal_autocheckpoint(0)", "journal_size_limit(67108864)",
	}}))
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	w := &writer{db: db, stmts: map[string]*sql.Stmt{}, queue: make(chan *write, maxGroup), ended: make(chan struct{}), failed: make(chan struct{}), reserve: reserve, sound: sound}
	if w.raw, err = db.Conn(context.Background()); err == nil {
		err = w.prepareTables(before)
	}
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	_ = w.reserve.Make() // without a reserve, the store works until the disk is full
	go w.run()
	sound.background(w)
	return w, nil
}

// startLog flushes to disk the write-ahead log that the last process has left. It must be called
// before the first write. Error: unavailable on a full disk.
func startLog(path string, reserve *disk.Reserve) error {
	err := sqlitelog.Start(path, reserve)
	var full *sqlitelog.FullError
	if errors.As(err, &full) {
		return &perdure.Error{Code: perdure.Unavailable, Message: "the worker's store " + path + ": " + full.Error(), Err: full.Unwrap()}
	}
	return err
}

func (w *writer) prepareTables(before bool) error {
	ctx := context.Background()
	if err := w.sound.start(ctx, before); err != nil {
		return err
	}
	var version int
	if err := w.raw.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version); err != nil {
		return err
	}
	if version > schemaVersion {
		return perdure.Errorf(perdure.Conflict, "the worker's store has version %d, this program knows version %d; upgrade the program", version, schemaVersion)
	}
	if version == schemaVersion {
		return nil
	}
	return w.transact(func(t transaction) error {
		for _, statement := range schema {
			if _, err := t.w.raw.ExecContext(ctx, statement); err != nil {
				return err
			}
		}
		return nil
	})
}

// do runs a write and returns when its data is on disk; the write may share a transaction with
// others. If ctx ends first, do returns the cause of ctx, and the writer may still run the write.
func (w *writer) do(ctx context.Context, apply func(transaction) error, size int) error {
	one := &write{apply: apply, size: size, done: make(chan error, 1)}
	if err := w.send(ctx, one); err != nil {
		return err
	}
	select {
	case err := <-one.done:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (w *writer) send(ctx context.Context, one *write) error {
	w.mu.RLock()
	defer w.mu.RUnlock()
	if w.closed {
		return perdure.Errorf(perdure.Unavailable, "the worker's store is closed")
	}
	select {
	case w.queue <- one:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// end refuses new writes, and waits until all queued writes have run.
func (w *writer) end() {
	w.mu.Lock()
	if !w.closed {
		w.closed = true
		close(w.queue)
	}
	w.mu.Unlock()
	<-w.ended
}

// close closes the database connection of the writer. The caller has called end.
func (w *writer) close() error {
	for _, stmt := range w.stmts {
		_ = stmt.Close() // closing errors do not matter: the connection is closed next
	}
	return errors.Join(w.raw.Close(), w.db.Close())
}

// run runs the queued writes in groups, until the queue is closed.
func (w *writer) run() {
	defer close(w.ended)
	for first := range w.queue {
		group := []*write{first}
		for size := first.size; len(group) < maxGroup && size < maxGroupBytes; {
			next, ok := w.waiting()
			if !ok {
				break
			}
			group, size = append(group, next), size+next.size
		}
		w.makeGroup(group)
		w.checkpoint(group)
	}
}

// checkpointAfter is about how many bytes the write-ahead log grows between two checkpoints. Each group of
// writes counts for at least groupBytes.
const checkpointAfter, groupBytes = 16 << 20, 64 << 10

// checkpoint counts the bytes that a group of writes has added to the write-ahead log, and runs a
// checkpoint of that log when about checkpointAfter bytes have been added. SQLite's automatic
// checkpoint would not report an error if the database file cannot be written.
func (w *writer) checkpoint(group []*write) {
	w.walBytes += groupBytes
	for _, one := range group {
		w.walBytes += 2 * one.size
	}
	if w.walBytes < checkpointAfter || w.broken != nil {
		return
	}
	w.walBytes = 0
	var busy, frames, moved int
	err := w.raw.QueryRowContext(context.Background(), "PRAGMA wal_checkpoint(PASSIVE)").Scan(&busy, &frames, &moved)
	switch {
	case resultCode(err) == lib.SQLITE_FULL:
		w.makeRoom()
	case err != nil:
		w.fail(err)
	}
}

func (w *writer) waiting() (*write, bool) {
	select {
	case next, ok := <-w.queue:
		return next, ok
	default:
		return nil, false
	}
}

// makeGroup runs a group of writes in one transaction. If the transaction fails, makeGroup runs
// each write in a transaction of its own, so that one bad write does not affect the others.
func (w *writer) makeGroup(group []*write) {
	err := w.transact(func(t transaction) error {
		for _, one := range group {
			if err := one.apply(t); err != nil {
				return err
			}
		}
		return nil
	})
	for _, one := range group {
		if err != nil && len(group) > 1 {
			one.done <- w.transact(one.apply)
			continue
		}
		one.done <- err
	}
}

// transact runs one transaction. If its commit fails with a disk error, it is unknown whether the
// data is stored, so the writer stops until the store is opened again and checked.
func (w *writer) transact(apply func(transaction) error) error {
	if w.broken != nil {
		return w.broken
	}
	ctx := context.Background()
	if _, err := w.raw.ExecContext(ctx, "BEGIN IMMEDIATE"); err != nil {
		return w.outcome(err)
	}
	err := apply(transaction{w})
	if err == nil {
		_, err = w.raw.ExecContext(ctx, "COMMIT")
	}
	if err == nil {
		return nil
	}
	if _, back := w.raw.ExecContext(ctx, "ROLLBACK"); back != nil && w.inTransaction() {
		w.fail(back)
	}
	return w.outcome(err)
}

// fail stops all writing for good. The parameter err is the error that later writes get.
func (w *writer) fail(err error) {
	if w.broken == nil {
		w.broken = storeBroken(err)
		close(w.failed)
	}
}

// makeRoom frees disk space when the disk is full: it frees the reserve, runs a checkpoint of the
// write-ahead log, and then tries to make the reserve again.
func (w *writer) makeRoom() {
	w.reserve.Release()
	var busy, frames, moved int
	err := w.raw.QueryRowContext(context.Background(), "PRAGMA wal_checkpoint(TRUNCATE)").Scan(&busy, &frames, &moved)
	if err != nil && resultCode(err) != lib.SQLITE_FULL {
		w.fail(err)
	}
	_ = w.reserve.Make() // the next call of makeRoom tries again
}

// inTransaction reports whether a transaction is still open. After some errors, SQLite has already
// rolled the transaction back.
func (w *writer) inTransaction() bool {
	_, err := w.raw.ExecContext(context.Background(), "BEGIN")
	if err == nil {
		_, err = w.raw.ExecContext(context.Background(), "ROLLBACK")
	}
	return err != nil
}

// outcome returns the error that the caller of a failed write gets. On a full disk, it frees space
// and returns the error unavailable. If err has a code, it returns err unchanged. After any other
// error, it stops writing and returns the error internal.
func (w *writer) outcome(err error) error {
	var coded *perdure.Error
	if errors.As(err, &coded) {
		return err
	}
	switch resultCode(err) {
	case lib.SQLITE_FULL:
		w.makeRoom()
		fallthrough
	case lib.SQLITE_BUSY:
		return &perdure.Error{Code: perdure.Unavailable, Message: "the worker's store cannot write now; is its disk full?", Err: err}
	}
	w.fail(err)
	return w.broken
}

func storeBroken(err error) error {
	return &perdure.Error{Code: perdure.Internal, Message: "the worker's store failed; look at its disk, and start the worker again", Err: err}
}

func resultCode(err error) int {
	var failed interface {
		error
		Code() int
	}
	if errors.As(err, &failed) {
		return failed.Code() & 0xff
	}
	return 0
}

// damaged returns an internal error if err means that the file at path is damaged or not a database, and
// err otherwise.
func damaged(path string, err error) error {
	switch resultCode(err) {
	case lib.SQLITE_CORRUPT, lib.SQLITE_NOTADB:
		return &perdure.Error{Code: perdure.Internal, Message: "the worker's store " + path + " is damaged; restore it from a copy", Err: err}
	}
	return err
}

// transaction is an open transaction, in which writes run their statements.
type transaction struct{ w *writer }

// exec executes a statement, which is prepared only once per writer.
func (t transaction) exec(query string, args ...any) (sql.Result, error) {
	stmt, err := t.prepared(query)
	if err != nil {
		return nil, err
	}
	return stmt.ExecContext(context.Background(), args...)
}

// ids runs a query with one column and returns the values of that column.
func (t transaction) ids(query string, args ...any) ([]int64, error) {
	rows, err := t.w.raw.QueryContext(context.Background(), query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var ids []int64
	for rows.Next() {
		var id int64
		if err := rows.Scan(&id); err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, rows.Err()
}

// drain executes a query to its end and ignores the rows.
func (t transaction) drain(query string) error {
	rows, err := t.w.raw.QueryContext(context.Background(), query)
	if err != nil {
		return err
	}
	for rows.Next() {
	}
	return errors.Join(rows.Err(), rows.Close())
}

func (t transaction) prepared(query string) (*sql.Stmt, error) {
	if stmt, ok := t.w.stmts[query]; ok {
		return stmt, nil
	}
	stmt, err := t.w.raw.PrepareContext(context.Background(), query)
	if err == nil {
		t.w.stmts[query] = stmt
	}
	return stmt, err
}
