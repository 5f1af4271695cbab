// Package results stores the results of expensive task attempts, such as answers of models, on the
// worker's disk until a server has stored them. If the worker is killed before the server has
// acknowledged a result, the worker finds the result when it claims the task again.
package results

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/lru"
)

const (
	// DefaultBytes is the default limit of a Store's disk space in bytes.
	DefaultBytes = 256 << 20
	// DefaultAge is the default age at which a Store removes a result.
	DefaultAge = 24 * time.Hour
	// block is the unit, in bytes, to which file sizes are rounded up, because a file system allocates
	// whole blocks.
	block = 4096
)

// Key identifies a result: by the task, and by the input with which the task was run.
type Key struct {
	ExecutionID, TaskID uuid.UUID
	Input               perdure.Hash
}

// Options are the limits of a Store. The zero value of a field means its default.
type Options struct {
	Bytes int64         // maximum number of bytes on disk; default DefaultBytes
	Age   time.Duration // maximum age of a result; default DefaultAge
	Now   func() time.Time
}

// Store is a directory with one file for each result, which only the user of this process can read.
// It is safe for concurrent use within one process. The caller must hold a lock on the parent
// directory, so that no other process uses the Store's directory.
type Store struct {
	dir string
	o   Options

	mu    sync.Mutex           // guards the fields below
	files lru.Map[name, *file] // oldest first
	bytes int64                // counted size of all files
}

// name is what determines the name of a result's file. The input is not a part of it, so a task has only
// one result at a time.
type name struct{ execution, task uuid.UUID }

func (k Key) name() name { return name{k.ExecutionID, k.TaskID} }

// file describes a stored file without its content: its name, counted size and time of writing.
type file struct {
	name name
	size int64
	at   time.Time
}

// Open opens the directory, and creates it if necessary. It removes results that are too old, and
// then the oldest results until the rest is within the limit of disk space.
func Open(dir string, o Options) (*Store, error) {
	if o.Bytes <= 0 {
		o.Bytes = DefaultBytes
	}
	if o.Age <= 0 {
		o.Age = DefaultAge
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("create the folder of results: %w", err)
	}
	s := &Store{dir: dir, o: o}
	if err := s.list(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.evict(0)
	return s, nil
}

// list reads which results are in the directory. It ignores files whose names are not those of
// results.
func (s *Store) list() error {
	found, err := os.ReadDir(s.dir)
	if err != nil {
		return err
	}
	var files []*file
	for _, entry := range found {
		n, ok := parseName(entry.Name())
		info, err := entry.Info()
		if !ok || err != nil || !info.Mode().IsRegular() {
			continue
		}
		files = append(files, &file{name: n, size: counted(info.Size()), at: info.ModTime()})
	}
	slices.SortFunc(files, func(a, b *file) int { return a.at.Compare(b.at) })
	for _, f := range files {
		s.add(f)
	}
	return nil
}

// Put stores a result so that it survives a crash, and replaces an earlier result of the same task. If
// there is too little space, it removes the oldest results. Errors: payload_too_large for a result that is
// larger than the limit of the Store; errors of the disk.
func (s *Store) Put(k Key, result []byte) error {
	raw := encode(k.Input, result)
	size := counted(int64(len(raw)))
	if size > s.o.Bytes {
		return perdure.Errorf(perdure.PayloadTooLarge, "a result of %d bytes has no room among %d bytes of kept results", len(result), s.o.Bytes)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.remove(k.name())
	s.evict(size)
	err := s.write(k.name(), raw)
	if err != nil {
		err = errors.Join(err, os.Remove(s.path(k.name())))
		return fmt.Errorf("keep a result: %w", err)
	}
	s.add(&file{name: k.name(), size: size, at: s.o.Now()})
	return nil
}

// write creates the file of the result n with its final name. Once write has returned, the file is
// complete on disk. If a kill or a power failure leaves it incomplete before that, its checksum does
// not match.
func (s *Store) write(n name, raw []byte) error {
	f, err := os.OpenFile(s.path(n), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(raw)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return syncFolder(s.dir)
}

func syncFolder(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// Get returns the result for the key; the bool is false if there is none. A result that is too old,
// damaged, or of another input is removed.
func (s *Store) Get(k Key) ([]byte, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.files.Peek(k.name())
	if f == nil {
		return nil, false
	}
	if s.o.Now().Sub(f.at) < s.o.Age {
		if raw, err := os.ReadFile(s.path(k.name())); err == nil {
			if result, ok := decode(k.Input, raw); ok {
				return result, true
			}
		}
	}
	s.remove(k.name())
	return nil, false
}

// Remove removes the result of the key's task, if there is one.
func (s *Store) Remove(k Key) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.remove(k.name())
}

// RemoveExecution removes all results of the execution's tasks.
func (s *Store) RemoveExecution(execution uuid.UUID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for n := range s.files.Keys() {
		if n.execution == execution {
			s.remove(n)
		}
	}
}

// Len returns the number of stored results.
func (s *Store) Len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.files.Len()
}

// evict removes results that are too old. Then it removes the oldest results until `room` bytes are
// free. The caller has locked s.mu.
func (s *Store) evict(room int64) {
	now := s.o.Now()
	for f := s.files.Oldest(); f != nil && (now.Sub(f.at) >= s.o.Age || s.bytes+room > s.o.Bytes); f = s.files.Oldest() {
		s.remove(f.name)
	}
}

func (s *Store) add(f *file) {
	s.files.Put(f.name, f)
	s.bytes += f.size
}

// remove removes a result. If its file cannot be removed, the next Open lists it again, and removes it when
// it is too old. The caller has locked s.mu.
func (s *Store) remove(n name) {
	f := s.files.Remove(n)
	if f == nil {
		return
	}
	s.bytes -= f.size
	_ = os.Remove(s.path(n))
}

func counted(size int64) int64 { return (size + block - 1) / block * block }

func (s *Store) path(n name) string {
	return filepath.Join(s.dir, n.execution.String()+"."+n.task.String())
}

func parseName(text string) (n name, ok bool) {
	const id = 36
	if len(text) != 2*id+1 || text[id] != '.' {
		return n, false
	}
	execution, err := uuid.Parse(text[:id])
	task, err2 := uuid.Parse(text[id+1:])
	return name{execution, task}, err == nil && err2 == nil
}
