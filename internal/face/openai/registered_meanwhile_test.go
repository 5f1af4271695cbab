package openai_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/internal/store/opentest"
)

// kinds is a store that calls the function `before` before each read of kinds.
type kinds struct {
	store.Store
	mu     sync.Mutex // guards before
	before func() error
}

func (k *kinds) set(before func() error) {
	k.mu.Lock()
	k.before = before
	k.mu.Unlock()
}

func (k *kinds) AgentKind(ctx context.Context, org, kind string) (*store.Kind, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.before != nil {
		if err := k.before(); err != nil {
			return nil, err
		}
	}
	return k.Store.AgentKind(ctx, org, kind)
}

func (k *kinds) Unwrap() store.Store { return k.Store }

// TestAModelWhoseWorkerRegistersMeanwhile checks a create request during which the worker of its
// model registers. The request gets a response. If the store fails when the server reads the kinds,
// the request gets the status 500.
func TestAModelWhoseWorkerRegistersMeanwhile(t *testing.T) {
	k := &kinds{Store: opentest.Store(t)}
	s := newStageOn(t, k, says("hello"))
	looked := 0
	k.set(func() error {
		if looked++; looked == 1 {
			return &perdure.Error{Code: perdure.NotFound, Message: "no worker yet"}
		}
		return nil
	})
	s.create(`"input":"hi"`).object()
	k.set(func() error { return errors.New("the disk is away") })
	s.create(`"input":"hi"`).refused(500, "", "internal")
}
