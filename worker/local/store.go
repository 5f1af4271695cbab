// Package local keeps the contents of LOCAL executions in the data directory of
// the worker that runs them. The server has their skeleton: rows, order,
// lengths and hashes. A Store holds the contents by their hash; Wrap puts it
// between a worker and its server.
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
	_ "modernc.org/sqlite" // the driver "sqlite"
)

const (
	idFile       = "worker-id"
	lockFile     = "lock"
	contentsFile = "contents.db"
	resultsDir   = "results"
)

// Store is the contents that one worker keeps. It is safe for concurrent use.
// What a write was told is stored outlasts a loss of power.
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

// Open opens the store in dir, and makes it the first time, readable to its
// owner alone. One process has it at a time. Errors: conflict if another live
// process has it, or a newer version of the program has written it; internal if
// it is damaged.
//
// A store that was not closed in order is checked while it is used; damage makes it
// fail, see Failed.
func Open(dir string) (*Store, error) { return open(dir, false) }

// OpenChecked is Open which returns once all of a store is checked that was not closed
// in order.
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

// own takes the directory's lock, which the system gives up when the process
// dies, however it dies.
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

// ReadID returns the id of the worker whose directory dir is, uuid.Nil if it was
// never one. Errors: internal if the id cannot be read, for a new one would
// orphan what is kept under the old.
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

// WorkerID is the stable id of the worker whose store it is.
func (s *Store) WorkerID() uuid.UUID { return s.id }

// Results returns the results of task attempts that the worker keeps until its
// server has stored them.
func (s *Store) Results() *results.Store { return s.results }

// Close ends the store once what is under way is written.
func (s *Store) Close() error {
	s.closing.Do(func() {
		var errs []error
		// The last connection that is closed folds the log into the file. Those that
		// read cannot: after a failure they are the last, and the log is left to the
		// next start.
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

// Failed returns a channel that is closed when the store has failed and writes no
// more. The process should end: its next start looks at what is stored.
func (s *Store) Failed() <-chan struct{} { return s.writer.failed }

// Err returns why the store has failed, once the channel of Failed is closed.
func (s *Store) Err() error { return s.writer.broken }

// Put stores contents of an execution, and returns their references. They are
// durable when it returns. Errors: unavailable (a full disk: try again),
// internal, ctx's.
func (s *Store) Put(ctx context.Context, execution uuid.UUID, contents ...[]byte) ([]perdure.BlobRef, error) {
	b := NewBatch(execution)
	refs := make([]perdure.BlobRef, len(contents))
	for i, content := range contents {
		refs[i] = b.Add(content)
	}
	return refs, s.Write(ctx, b)
}

// Name stores a content under a name that is unique in the execution, in place
// of what had the name before. Errors: as Put.
func (s *Store) Name(ctx context.Context, execution uuid.UUID, name string, content []byte) error {
	b := NewBatch(execution)
	b.Name(name, content)
	return s.Write(ctx, b)
}

// Write stores a batch, all of it or nothing. Errors: as Put.
func (s *Store) Write(ctx context.Context, b *Batch) error {
	if b.empty() {
		return nil
	}
	return s.writer.do(ctx, b.apply, b.size)
}

// Drop deletes all that is kept of an execution, part by part, and gives its
// disk space back. One that was interrupted continues when it is called again.
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
