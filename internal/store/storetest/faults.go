package storetest

import (
	"context"
	"sync"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
)

// Fault is what happens to a command in one call of Do.
type Fault int

const (
	// NoFault runs the command normally.
	NoFault Fault = iota
	// FailBefore writes nothing and returns an unavailable error, as if the process had ended
	// before the commit.
	FailBefore
	// LoseAnswer runs the command and returns an unavailable error, as if the process had ended
	// after the commit.
	LoseAnswer
	// Twice runs the command two times and returns the second outcome, as if the caller had
	// repeated the command because the answer of the first call was lost.
	Twice
)

// Faults is a store in which calls of Do fail in the way that Plan says.
type Faults struct {
	store.Store
	// Plan returns the fault of the nth call of Do; the first call has the number 1. Calls of Plan
	// never overlap. If Plan is nil, there are no faults.
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

// Count returns how often Do was called.
func (f *Faults) Count() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.count
}

// Unwrap returns the wrapped store.
func (f *Faults) Unwrap() store.Store { return f.Store }
