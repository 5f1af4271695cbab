package engine

import (
	"context"
	"slices"
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
)

// together is a store that decides nothing under a name before so many commands
// of it have come.
type together struct {
	store.Store
	name string
	here sync.WaitGroup
}

func (t *together) Do(ctx context.Context, c store.Command) ([]any, error) {
	if c.Name == t.name {
		t.here.Done()
		t.here.Wait()
	}
	return t.Store.Do(ctx, c)
}

// Workers that register a kind at once keep the providers of all: none decides on
// what was known before another.
func TestRegistrationsAtOnceKeepTheProvidersOfAll(t *testing.T) {
	const workers = 8
	b := newBench(t)
	s := &together{Store: b.s, name: "register"}
	s.here.Add(workers)
	b.use(s)
	var all sync.WaitGroup
	var want []string
	for i := range workers {
		provider := string(rune('a' + i))
		want = append(want, provider)
		all.Go(func() {
			_, err := b.d.Register(t.Context(), perdure.Registration{
				WorkerID: uuid.New(), Queues: []string{"default"}, Agents: []perdure.KindSpec{{Kind: "shared", Providers: []string{provider}}},
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	kinds, err := b.s.Kinds(t.Context(), org)
	b.must(err)
	at := slices.IndexFunc(kinds, func(k store.Kind) bool { return k.Spec.Kind == "shared" })
	if at < 0 || !slices.Equal(kinds[at].Spec.Providers, want) {
		t.Errorf("the kinds are %+v, want the providers %q", kinds, want)
	}
}
