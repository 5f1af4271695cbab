// Package local stores the contents of LOCAL executions in the data directory of the worker that runs them.
// The server has only the rows of such executions, with the order, length and hash of each content. A Store
// has the contents themselves, and finds each by its hash. Wrap connects a Store with a worker's connection
// to the server.
package local

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/disk"
	"github.com/perdure/perdure/internal/filelock"
	"github.com/perdure/perdure/worker/results"
	_ "modernc.org/sqlite" // registers the driver "sqlite"
)

const (
	idFile       = "worker-id"
	lockFile     = "lock"
	contentsFile = "contents.db"
	resultsDir   = "results"
)

// Store stores the contents of one worker's LOCAL executions in a directory. It is safe for
// concurrent use. A completed write survives a power failure.
type Store struct {
	dir     string
	id      uuid.UUID
	lock    *os.File
	writer  *writer
	readers *sql.DB
	results *results.Store
	closing sync.Once
	closed  error
}

var _ perdure.ContentSource = (*Store)(nil)

// Open opens the store in the directory dir, and creates it if necessary. Only the user who runs
// this process can read its files. Errors: conflict if another live process has opened the store,
// or if a newer version of the program wrote it; internal if the store is damaged.
//
// A store that was not closed cleanly is checked in the background. If the check finds damage, the store
// fails, see Failed. The caller closes the store.
func Open(dir string) (*Store, error) { return open(dir, false) }

// OpenChecked opens the store like Open. If the store was not closed cleanly, OpenChecked checks it
// before it returns.
func OpenChecked(dir string) (*Store, error) { return open(dir, true) }

func open(dir string, before bool) (*Store, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, &perdure.Error{Code: perdure.InvalidArgument, Message: "cannot make the worker's directory " + dir, Err: err}
	}
	lock, err := own(dir)
	if err != nil {
		return nil, err
	}
	s := &Store{dir: dir, lock: lock}
	if err := s.open(before); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func (s *Store) open(before bool) (err error) {
	if s.id, err = ReadID(s.dir); err != nil {
		return err
	}
	if s.id == uuid.Nil {
		s.id = uuid.New()
		if err := disk.WriteFile(filepath.Join(s.dir, idFile), []byte(s.id.String()+"\n")); err != nil {
			return err
		}
	}
	if s.results, err = results.Open(filepath.Join(s.dir, resultsDir), results.Options{}); err != nil {
		return err
	}
	path := filepath.Join(s.dir, contentsFile)
	if s.writer, err = openWriter(path, before); err != nil {
		return damaged(path, err)
	}
	s.readers, err = sql.Open("sqlite", dsn(path, url.Values{"mode": {"ro"}}))
	if err == nil {
		s.readers.SetMaxOpenConns(4)
		s.readers.SetMaxIdleConns(4)
	}
	return err
}

// own locks the directory for this process. The operating system releases the lock when the process ends
// for any reason.
func own(dir string) (*os.File, error) {
	file, err := os.OpenFile(filepath.Join(dir, lockFile), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, &perdure.Error{Code: perdure.InvalidArgument, Message: "cannot write in the worker's directory " + dir, Err: err}
	}
	take := func() error { return syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) }
	held := func(err error) bool { return errors.Is(err, syscall.EWOULDBLOCK) }
	if err := filelock.Take(take, held); err != nil {
		defer file.Close()
		if !held(err) {
			return nil, fmt.Errorf("lock %s: %w", dir, err)
		}
		return nil, perdure.Errorf(perdure.Conflict, "another worker uses the directory %s", dir)
	}
	return file, nil
}

// ReadID returns the id of the worker that owns the directory dir, or uuid.Nil if dir has no id.
// Error: internal if the id cannot be read. The caller must not replace the id then, because the
// stored contents belong to the old id.
func ReadID(dir string) (uuid.UUID, error) {
	path := filepath.Join(dir, idFile)
	raw, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return uuid.Nil, nil
	}
	if err != nil {
		return uuid.Nil, err
	}
	id, err := uuid.Parse(strings.TrimSpace(string(raw)))
	if err != nil {
		return uuid.Nil, perdure.Errorf(perdure.Internal, "%s holds no worker id; the executions kept in %s belong to the id that stood there", path, filepath.Dir(path))
	}
	return id, nil
}

// WorkerID returns the id of the store's worker, which never changes.
func (s *Store) WorkerID() uuid.UUID { return s.id }

// Results returns the store for results of attempts that the server has not stored yet. That store
// is in the same directory as s.
func (s *Store) Results() *results.Store { return s.results }

// Close completes pending writes and closes the store. Later calls of Close return the same error as the
// first.
func (s *Store) Close() error {
	s.closing.Do(func() {
		var errs []error
		// SQLite runs its final checkpoint of the write-ahead log when the last connection is
		// closed. If the writer has failed, its connection is closed first. The last connection is
		// then one that only reads, and cannot run the checkpoint, so the log stays until the next
		// start.
		if s.writer != nil {
			s.writer.sound.end()
			s.writer.end()
		}
		ends := []func() error{s.closeReaders, s.closeWriter}
		if s.writer != nil && s.writer.broken != nil {
			slices.Reverse(ends)
		}
		for _, end := range ends {
			errs = append(errs, end())
		}
		if s.writer != nil && s.writer.broken == nil && errors.Join(errs...) == nil {
			errs = append(errs, s.writer.sound.closed())
		}
		if s.lock != nil {
			errs = append(errs, s.lock.Close())
		}
		s.closed = errors.Join(errs...)
	})
	return s.closed
}

func (s *Store) closeReaders() error {
	if s.readers == nil {
		return nil
	}
	return s.readers.Close()
}

func (s *Store) closeWriter() error {
	if s.writer == nil {
		return nil
	}
	return s.writer.close()
}

// Failed returns a channel that is closed when the store has failed and accepts no more writes. The
// process should end; the next start checks the store.
func (s *Store) Failed() <-chan struct{} { return s.writer.failed }

// Err returns the reason why the store has failed. It may be called only after the channel of
// Failed is closed.
func (s *Store) Err() error { return s.writer.broken }

// Put stores contents of an execution and returns a reference to each, in the same order. The contents
// survive a crash once Put has returned. Errors: unavailable on a full disk, which the caller may retry;
// internal; the cause of ctx.
func (s *Store) Put(ctx context.Context, execution uuid.UUID, contents ...[]byte) ([]perdure.BlobRef, error) {
	b := NewBatch(execution)
	refs := make([]perdure.BlobRef, len(contents))
	for i, content := range contents {
		refs[i] = b.Add(content)
	}
	return refs, s.Write(ctx, b)
}

// Name stores a content under a name, which is unique within the execution. It replaces the content that
// the name had before. Errors: those of Put.
func (s *Store) Name(ctx context.Context, execution uuid.UUID, name string, content []byte) error {
	b := NewBatch(execution)
	b.Name(name, content)
	return s.Write(ctx, b)
}

// Write stores all contents of a batch, or none. Errors: those of Put.
func (s *Store) Write(ctx context.Context, b *Batch) error {
	if b.empty() {
		return nil
	}
	return s.writer.do(ctx, b.apply, b.size)
}

// Drop deletes all contents and results of an execution in several transactions, and returns the
// disk space to the file system. If it is interrupted, another call completes it.
func (s *Store) Drop(ctx context.Context, execution uuid.UUID) error {
	s.results.RemoveExecution(execution)
	for more := true; more; {
		err := s.writer.do(ctx, func(t transaction) (err error) {
			more, err = dropSome(t, execution)
			return err
		}, 0)
		if err != nil {
			return err
		}
	}
	return nil
}
