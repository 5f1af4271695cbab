// Package local stores the contents of LOCAL executions in the data directory of the worker that
// runs them. The server has only rows, order, lengths and hashes of such executions. A Store holds
// the contents by their hash. Wrap puts it between a worker and its server.
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
	"github.com/perdure/perdure/worker/results"
	_ "modernc.org/sqlite" // registers the driver "sqlite"
)

const (
	idFile       = "worker-id"
	lockFile     = "lock"
	contentsFile = "contents.db"
	resultsDir   = "results"
)

// Store holds the contents of one worker's LOCAL executions. It is safe for concurrent use. A
// completed write survives a power failure.
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

// Open opens the store in dir, or creates it, readable only by its owner. One process can open it
// at a time. Errors: conflict if another live process has it open, or a newer version of the
// program wrote it; internal if it is damaged.
//
// A store that was not closed cleanly is checked while it is in use. Damage makes it fail, see
// Failed.
func Open(dir string) (*Store, error) { return open(dir, false) }

// OpenChecked is Open, but checks a store that was not closed cleanly before it returns.
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

// own takes the directory's lock. The operating system releases it when the process ends in any
// way.
func own(dir string) (*os.File, error) {
	file, err := os.OpenFile(filepath.Join(dir, lockFile), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, &perdure.Error{Code: perdure.InvalidArgument, Message: "cannot write in the worker's directory " + dir, Err: err}
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		defer file.Close()
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, fmt.Errorf("lock %s: %w", dir, err)
		}
		return nil, perdure.Errorf(perdure.Conflict, "another worker uses the directory %s", dir)
	}
	return file, nil
}

// ReadID returns the id of the worker that owns dir, uuid.Nil if it has none yet. Errors: internal
// if the id cannot be read; a new id would orphan the contents stored under the old one.
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

// WorkerID returns the stable id of the store's worker.
func (s *Store) WorkerID() uuid.UUID { return s.id }

// Results returns the store of the results of task attempts that the server has not yet stored.
func (s *Store) Results() *results.Store { return s.results }

// Close closes the store after pending writes.
func (s *Store) Close() error {
	s.closing.Do(func() {
		var errs []error
		// The last closed connection runs the final WAL checkpoint. A reading connection cannot do
		// so: if the writer has failed, the log stays until the next start.
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
// process should end; its next start checks the store.
func (s *Store) Failed() <-chan struct{} { return s.writer.failed }

// Err returns the reason of the failure, once the channel of Failed is closed.
func (s *Store) Err() error { return s.writer.broken }

// Put stores contents of an execution and returns their references. They are durable when it
// returns. Errors: unavailable (full disk; retry), internal, ctx's error.
func (s *Store) Put(ctx context.Context, execution uuid.UUID, contents ...[]byte) ([]perdure.BlobRef, error) {
	b := NewBatch(execution)
	refs := make([]perdure.BlobRef, len(contents))
	for i, content := range contents {
		refs[i] = b.Add(content)
	}
	return refs, s.Write(ctx, b)
}

// Name stores a content under a name that is unique in the execution. It replaces the earlier
// content of the name. Errors: those of Put.
func (s *Store) Name(ctx context.Context, execution uuid.UUID, name string, content []byte) error {
	b := NewBatch(execution)
	b.Name(name, content)
	return s.Write(ctx, b)
}

// Write stores a batch atomically. Errors: those of Put.
func (s *Store) Write(ctx context.Context, b *Batch) error {
	if b.empty() {
		return nil
	}
	return s.writer.do(ctx, b.apply, b.size)
}

// Drop deletes all contents of an execution in several transactions, and returns the disk space.
// After an interruption, another call continues.
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
