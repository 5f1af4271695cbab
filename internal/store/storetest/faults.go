package storetest

import (
	"context"
	"sync"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
)

// Fault is what happens to one Do.
type Fault int

const (
	// NoFault lets the command through.
	NoFault Fault = iota
	// FailBefore answers unavailable, and nothing is written: the process died
	// before the commit.
	FailBefore
	// LoseAnswer writes, and answers unavailable: it died after the commit.
	LoseAnswer
	// Twice runs the command a second time, and gives the second outcome: the
	// first answer was lost on the way and the caller asked again.
	Twice
)

// Faults is a store whose writes fail as planned.
type Faults struct {
	store.Store
	// Plan says what happens to the nth Do, from 1. It is called by one Do at a
	// time. Nil plans nothing.
	Plan func(n int, c store.Command) Fault

	mu    sync.Mutex
	count int
}

// Do implements [store.Store].
func (f *Faults) Do(ctx context.Context, c store.Command) ([]any, error) {
	switch f.next(c) {
	case FailBefore:
		return nil, perdure.Errorf(perdure.Unavailable, "planned: nothing was written")
	case LoseAnswer:
		if answers, err := f.Store.Do(ctx, c); err != nil {
			return answers, err
		}
		return nil, perdure.Errorf(perdure.Unavailable, "planned: the answer was lost")
	case Twice:
		if answers, err := f.Store.Do(ctx, c); err != nil {
			return answers, err
		}
	}
	return f.Store.Do(ctx, c)
}

func (f *Faults) next(c store.Command) Fault {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.count++
	if f.Plan == nil {
		return NoFault
	}
	return f.Plan(f.count, c)
}

// Count is how many times Do was called.
func (f *Faults) Count() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.count
}

// Unwrap returns the store behind.
func (f *Faults) Unwrap() store.Store { return f.Store }
