// Package results stores the results of expensive task attempts, such as answers of models, on a
// worker's disk until a server has stored them. If a worker is killed between the last byte of an
// answer and the server's acknowledgement, it finds the answer here when it claims the task again.
package results

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

const (
	// DefaultBytes is the default limit of a Store's disk space.
	DefaultBytes = 256 << 20
	// DefaultAge is the default time for which a result is kept.
	DefaultAge = 24 * time.Hour
	// block is the minimum size that a file counts, because a file system allocates whole blocks.
	block = 4096
)

// Key identifies a result by the task and its input.
type Key struct {
	ExecutionID, TaskID uuid.UUID
	Input               perdure.Hash
}

// Options are the limits of a Store. A zero value means the default.
type Options struct {
	Bytes int64         // default DefaultBytes
	Age   time.Duration // default DefaultAge
	Now   func() time.Time
}

// Store is a directory of results, one file each, with mode 0600. It is safe for concurrent use by
// one process. The caller must hold a lock on the parent directory.
type Store struct {
	dir string
	o   Options

	mu    sync.Mutex // guards the fields below
	files map[name]file
	bytes int64 // size of all files
}

// name is the part of a Key that determines the file name. A task has one result at a time.
type name struct{ execution, task uuid.UUID }

func (k Key) name() name { return name{k.ExecutionID, k.TaskID} }

// file is what the Store knows of a file without reading it.
type file struct {
	size int64
	at   time.Time
}

// Open opens the directory, creates it if necessary, and removes expired results.
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
	s := &Store{dir: dir, o: o, files: map[name]file{}}
	if err := s.list(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.evict(0)
	return s, nil
}

// list reads the directory. It ignores files whose names are not those of results.
func (s *Store) list() error {
	found, err := os.ReadDir(s.dir)
	if err != nil {
		return err
	}
	for _, entry := range found {
		n, ok := parseName(entry.Name())
		info, err := entry.Info()
		if !ok || err != nil || !info.Mode().IsRegular() {
			continue
		}
		s.add(n, file{size: counted(info.Size()), at: info.ModTime()})
	}
	return nil
}

// Put stores a result durably. It removes the oldest results if it needs room. Errors:
// payload_too_large for a result larger than the Store's limit.
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
	s.add(k.name(), file{size: size, at: s.o.Now()})
	return nil
}

// write creates the file under its final name. A killed process finds the file as soon as the bytes
// are in the page cache. A file that a power failure has torn fails its checksum.
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

// Get returns the result with the key. It removes a file that is expired, damaged, or belongs to
// another input.
func (s *Store) Get(k Key) ([]byte, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f, ok := s.files[k.name()]
	if !ok {
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
	for n := range s.files {
		if n.execution == execution {
			s.remove(n)
		}
	}
}

// Len returns the number of stored results.
func (s *Store) Len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.files)
}

// evict removes expired results, and then the oldest until room bytes are free. mu is held.
func (s *Store) evict(room int64) {
	now := s.o.Now()
	for n, f := range s.files {
		if now.Sub(f.at) >= s.o.Age {
			s.remove(n)
		}
	}
	for s.bytes+room > s.o.Bytes && len(s.files) > 0 {
		s.remove(s.oldest())
	}
}

func (s *Store) oldest() (n name) {
	var at time.Time
	for candidate, f := range s.files {
		if at.IsZero() || f.at.Before(at) {
			n, at = candidate, f.at
		}
	}
	return n
}

func (s *Store) add(n name, f file) {
	s.files[n] = f
	s.bytes += f.size
}

// remove removes a result. If the file cannot be removed now, the next start finds it and removes
// it by age.
func (s *Store) remove(n name) {
	f, ok := s.files[n]
	if !ok {
		return
	}
	delete(s.files, n)
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
