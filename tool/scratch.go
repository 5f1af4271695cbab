package tool

import "github.com/perdure/perdure/tool/internal/scratch"

// Scratch has the temporary folders of runs, which commands see as /tmp, /var/tmp, /run and /dev/shm. The
// folders of a run are removed by Drop, by Close, or 24 hours after the last command of the run. Scratch is
// safe for concurrent use.
type Scratch struct{ store *scratch.Store }

// OpenScratch creates a Scratch in the system's folder for temporary files. It also removes folders that
// other processes left there when they ended.
func OpenScratch() (*Scratch, error) {
	store, err := scratch.Open()
	if err != nil {
		return nil, err
	}
	return &Scratch{store}, nil
}

// Close removes the folders of all runs. No command may be running.
func (s *Scratch) Close() error { return s.store.Close() }

// Drop removes the folders of a run that has ended. If a command of the run still uses the folders, they
// are removed when the command ends.
func (s *Scratch) Drop(run string) { s.store.Drop(run) }

// opened returns the store of s, or nil if s is nil.
func (s *Scratch) opened() *scratch.Store {
	if s == nil {
		return nil
	}
	return s.store
}
