package engine

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/engine/kinds"
	"github.com/perdure/perdure/internal/store"
)

// together is a store that delays the commands with the name `name` until all the expected commands
// have arrived.
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

// TestRegistrationsAtOnceKeepTheProvidersOfAll checks that concurrent registrations of a kind keep
// the providers of all workers.
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

// lateKind is a store that calls the function `register` immediately after each read of an agent
// kind.
type lateKind struct {
	store.Store
	register func()
}

func (l *lateKind) AgentKind(ctx context.Context, org, kind string) (*store.Kind, error) {
	found, err := l.Store.AgentKind(ctx, org, kind)
	l.register()
	return found, err
}

// TestAKindThatIsRegisteredDuringTheStart checks that a start does not refuse a kind that a worker
// registers while the start looks for it.
func TestAKindThatIsRegisteredDuringTheStart(t *testing.T) {
	b := newBench(t)
	s := &lateKind{Store: b.s}
	s.register = sync.OnceFunc(func() {
		_, err := b.d.Register(t.Context(), perdure.Registration{WorkerID: uuid.New(), Queues: []string{"default"}, Agents: []perdure.KindSpec{{Kind: "late"}}})
		b.must(err)
	})
	b.use(s)
	if _, err := b.e.Start(t.Context(), org, StartRequest{Kind: "late"}); err != nil {
		t.Errorf("the start returned %v", err)
	}
}

// TestSchemasReadNoFiles checks that a schema can refer only to itself and to drafts of JSON
// Schema, not to files of the server or to URLs.
func TestSchemasReadNoFiles(t *testing.T) {
	b := newBench(t)
	file := filepath.Join(t.TempDir(), "any.json")
	b.must(os.WriteFile(file, []byte(`{"type":"integer"}`), 0o600))
	register := func(schema string, agent bool) error {
		specs := []perdure.KindSpec{{Kind: "kind", InputSchema: json.RawMessage(schema)}}
		r := perdure.Registration{Tasks: specs}
		if agent {
			r = perdure.Registration{Agents: specs}
		}
		_, err := b.d.Register(t.Context(), r)
		return err
	}
	for schema, good := range map[string]bool{
		`{"$ref":"file://` + file + `"}`:           false,
		`{"properties":{"a":{"$ref":"any.json"}}}`: false,
		`{"$ref":"http://127.0.0.1:1/any.json"}`:   false,
		`{"$schema":"file://` + file + `"}`:        false,
		`{"type":7}`:                               false,
		`{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object"}`: true,
		`{"$schema":"http://json-schema.org/draft-07/schema#","type":"object"}`:      true,
		`{"$ref":"#/$defs/n","$defs":{"n":{"type":["object","null"]}}}`:              true,
		`{"$ref":"http://json-schema.org/draft-07/schema#"}`:                         true,
		`{"$ref":"https://json-schema.org/draft/2020-12/schema"}`:                    false, // this draft has $dynamicRef
		``: true,
	} {
		for _, agent := range []bool{true, false} {
			err := register(schema, agent)
			if good && err != nil || !good && !perdure.IsCode(err, perdure.InvalidArgument) {
				t.Errorf("the schema %s gave %v", schema, err)
			}
		}
	}
	// Such a schema can be in the store: older servers did not check the schemas that workers
	// registered.
	err := new(kinds.Schemas).Check("input", perdure.KindSpec{InputSchema: json.RawMessage(`{"$ref":"file://` + file + `"}`)}, json.RawMessage(`1`))
	b.wantCode(err, perdure.Internal)
}
