package storetest

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
)

var outsideTests = map[string]func(*fixture){
	"every field of a definition comes back":           definitionFields,
	"a slug is unique in its org":                      slugUnique,
	"a deleted definition leaves its executions":       definitionDeleted,
	"an idempotency key lives until it expires":        idempotencyExpires,
	"every field of a key comes back":                  keyFields,
	"every field of an org comes back":                 orgFields,
	"a secret stays the first of its name":             firstSecret,
	"kinds are remembered per org":                     kindsKept,
	"kinds are decided on one command after the other": kindsTogether,
}

func (f *fixture) outside(org string, ch store.Changes) error {
	_, err := f.s.Do(f.ctx, store.Command{Lane: store.LaneCommits, Org: org, Decide: func(*store.State) (*store.Changes, error) { return &ch, nil }})
	return err
}

func wholeDefinition(org, slug string) *perdure.Definition {
	return &perdure.Definition{
		ID: uuid.New(), Org: org, Name: "n", Slug: slug, Description: "d", SystemPrompt: "p",
		Models: []perdure.ModelConfig{{Provider: "a", ModelID: "b/c", BaseURL: "u", APIKeyEnv: "e"}}, Tools: []string{"bash"},
		Config:   perdure.AgentConfig{MaxTurns: ptr(1), MaxTokens: ptr(2), Temperature: ptr(0.5), Thinking: "low"},
		Metadata: json.RawMessage(`{"k": 1}`), CreatedAt: milestone(1), UpdatedAt: milestone(2), Version: 3,
		Retention: &perdure.Retention{Executions: ptr(30 * perdure.Day), Checkpoints: ptr(perdure.Forever)},
	}
}

func definitionFields(f *fixture) {
	d := wholeDefinition(org, "s")
	f.must(f.outside(org, store.Changes{Definition: d}))
	check := func() {
		f.Helper()
		got, err := f.s.Definition(f.ctx, org, d.ID)
		f.must(err)
		f.equal("the definition", got, d)
		state := f.look(uuid.New(), store.Needs{Definition: &d.ID, Slug: d.Slug})
		f.equal("the definition decided on", state.Definition, d)
		f.equal("the definition by slug", state.BySlug, d)
	}
	check()
	changed := *wholeDefinition(org, "s2")
	changed.ID, changed.Description, changed.Metadata, changed.Version = d.ID, "", nil, 4
	changed.Models, changed.Config, changed.Retention = nil, perdure.AgentConfig{}, nil
	d = &changed
	f.must(f.outside(org, store.Changes{Definition: d}))
	check()

	_, err := f.s.Definition(f.ctx, "other", d.ID)
	f.wantCode(err, perdure.NotFound)
	f.do(store.Command{
		Org: "other", Needs: func(*perdure.Execution) store.Needs { return store.Needs{Definition: &d.ID, Slug: d.Slug} },
		Decide: func(s *store.State) (*store.Changes, error) {
			if s.Definition != nil || s.BySlug != nil {
				f.Error("another org sees the definition")
			}
			return nil, nil
		},
	})
	second := wholeDefinition(org, "s3")
	f.must(f.outside(org, store.Changes{Definition: second}))
	f.must(f.outside("other", store.Changes{Definition: wholeDefinition("other", "s")}))
	f.equal("the list", pages(f, 1, func(cursor string, limit int) (store.Page[*perdure.Definition], error) {
		return f.s.Definitions(f.ctx, org, cursor, limit)
	}), []*perdure.Definition{d, second})
}

func slugUnique(f *fixture) {
	f.must(f.outside(org, store.Changes{Definition: wholeDefinition(org, "s")}))
	f.must(f.outside("other", store.Changes{Definition: wholeDefinition("other", "s")}))
	f.wantCode(f.outside(org, store.Changes{Definition: wholeDefinition(org, "s")}), perdure.AlreadyExists)
}

func definitionDeleted(f *fixture) {
	d := wholeDefinition(org, "s")
	f.must(f.outside(org, store.Changes{Definition: d}))
	id := f.start(func(x *perdure.Execution) { x.DefinitionID = &d.ID })
	f.must(f.outside("other", store.Changes{DeleteDefinition: &d.ID}))
	_, err := f.s.Definition(f.ctx, org, d.ID)
	f.must(err)
	f.must(f.outside(org, store.Changes{DeleteDefinition: &d.ID}))
	_, err = f.s.Definition(f.ctx, org, d.ID)
	f.wantCode(err, perdure.NotFound)
	if x := f.execution(id); x.DefinitionID != nil {
		f.Errorf("the execution still names the definition %s", x.DefinitionID)
	}
}

func idempotencyExpires(f *fixture) {
	id := f.start()
	remember := func(key string, expires perdure.Time) store.Idempotency {
		i := store.Idempotency{Key: key, RequestHash: sha256.Sum256([]byte(key)), Execution: id, ExpiresAt: expires}
		f.must(f.outside(org, store.Changes{Idempotency: &i}))
		return i
	}
	known := func(org, key string) *store.Idempotency {
		var found *store.Idempotency
		f.do(store.Command{
			Org: org, Needs: func(*perdure.Execution) store.Needs { return store.Needs{Idempotency: key} },
			Decide: func(s *store.State) (*store.Changes, error) { found = s.Idempotency; return nil, nil },
		})
		return found
	}
	lives, over := remember("lives", f.ago(-time.Hour)), remember("over", f.ago(time.Second))
	f.equal("the key that lives", known(org, "lives"), &lives)
	for what, got := range map[string]*store.Idempotency{
		"a key that has expired": known(org, over.Key), "a key never used": known(org, "never"), "another org's key": known("other", lives.Key),
	} {
		if got != nil {
			f.Errorf("%s is %+v", what, got)
		}
	}
	over = remember("over", f.ago(-time.Minute))
	f.equal("the key that is used again", known(org, "over"), &over)
	for i := range 20 {
		remember(fmt.Sprint("old ", i), f.ago(time.Minute))
	}
	f.equal("the key that lives, after others went", known(org, "lives"), &lives)
}

// unused returns the key with an empty Use, as lists of keys return a key that was never used.
func unused(k perdure.APIKey) *perdure.APIKey {
	k.Use = &perdure.KeyUse{}
	return &k
}

func keyFields(f *fixture) {
	exists, err := f.s.AnyKey(f.ctx)
	f.must(err)
	f.equal("whether there is a key", exists, false)
	k := perdure.APIKey{ID: uuid.New(), Org: org, Name: "n", Role: perdure.KeyWorker, Hash: sha256.Sum256([]byte("k")), CreatedAt: milestone(1), Limits: perdure.KeyLimits{RequestsPerSecond: 1, MaxRunning: 2, MaxStored: 1 << 40}}
	l := perdure.APIKey{ID: uuid.New(), Org: org, Name: "m", Role: perdure.KeyAdmin, Hash: sha256.Sum256([]byte("l")), CreatedAt: milestone(0)}
	f.must(f.outside(org, store.Changes{Key: &k}))
	f.must(f.outside(org, store.Changes{Key: &l}))
	got, err := f.s.KeyByHash(f.ctx, k.Hash)
	f.must(err)
	f.equal("the key", got, &k)
	f.equal("the key decided on", f.look(uuid.New(), store.Needs{KeyID: &k.ID}).Key, &k)
	list, err := f.s.Keys(f.ctx, org)
	f.must(err)
	f.equal("the keys", list, []*perdure.APIKey{unused(k), unused(l)})
	list, err = f.s.Keys(f.ctx, "other")
	f.must(err)
	f.equal("another org's keys", list, nil)
	_, err = f.s.KeyByHash(f.ctx, perdure.Hash{})
	f.wantCode(err, perdure.NotFound)

	exists, err = f.s.AnyKey(f.ctx)
	f.must(err)
	f.equal("whether there is a key", exists, true)
	k.RevokedAt, l.RevokedAt = ptr(milestone(2)), ptr(milestone(3))
	f.must(f.outside(org, store.Changes{Key: &k}))
	f.must(f.outside(org, store.Changes{Key: &l}))
	_, err = f.s.KeyByHash(f.ctx, k.Hash)
	f.wantCode(err, perdure.NotFound)
	exists, err = f.s.AnyKey(f.ctx)
	f.must(err)
	f.equal("whether there is a key that is not revoked", exists, false)
	list, err = f.s.Keys(f.ctx, org)
	f.must(err)
	f.equal("the revoked keys", list, []*perdure.APIKey{unused(k), unused(l)})
}

func kindsKept(f *fixture) {
	spec := perdure.KindSpec{
		Kind: "k", Description: "d", InputSchema: json.RawMessage(`{"type": "object"}`), Providers: []string{"p"},
		Endpoints: []perdure.ModelEndpoint{{Origin: "https://models.example:443", APIKeyEnv: "KEY", Provider: "p", Queue: "default"}, {Origin: "http://127.0.0.1:80"}},
	}
	agent := store.Kind{Org: org, Agent: true, Spec: spec, SeenAt: milestone(1)}
	task := store.Kind{Org: org, Spec: perdure.KindSpec{Kind: "k"}, SeenAt: milestone(1)}
	f.must(f.outside(org, store.Changes{Kinds: []store.Kind{agent, task, {Org: "other", Agent: true, Spec: spec, SeenAt: milestone(1)}}}))
	got, err := f.s.Kinds(f.ctx, org)
	f.must(err)
	f.equal("the kinds", got, []store.Kind{agent, task})
	one, err := f.s.AgentKind(f.ctx, org, "k")
	f.must(err)
	f.equal("one kind", one, &agent)
	for _, unknown := range [][2]string{{org, "K"}, {org, ""}, {"nobody", "k"}} {
		_, err := f.s.AgentKind(f.ctx, unknown[0], unknown[1])
		f.equal("the code of "+unknown[1]+" of "+unknown[0], perdure.CodeOf(err), perdure.NotFound)
	}
	agent.Spec.Description, agent.SeenAt = "d2", milestone(2)
	f.must(f.outside(org, store.Changes{Kinds: []store.Kind{agent}}))
	got, err = f.s.Kinds(f.ctx, org)
	f.must(err)
	f.equal("the kinds seen again", got, []store.Kind{agent, task})
	one, err = f.s.AgentKind(f.ctx, org, "k")
	f.must(err)
	f.equal("one kind seen again", one, &agent)
	f.must(f.outside(org, store.Changes{Kinds: []store.Kind{{Org: org, Spec: perdure.KindSpec{Kind: "t"}, SeenAt: milestone(1)}}}))
	_, err = f.s.AgentKind(f.ctx, org, "t")
	f.equal("the code of a kind of tasks", perdure.CodeOf(err), perdure.NotFound)
}

// kindsTogether checks concurrent commands, each of which adds a model provider to the same kind of
// agents. No provider may be lost.
func kindsTogether(f *fixture) {
	var all sync.WaitGroup
	want := map[string]bool{}
	for i := range 20 {
		name := fmt.Sprint("provider ", i)
		want[name] = true
		all.Go(func() {
			_, err := f.s.Do(f.ctx, store.Command{
				Org: org, Needs: func(*perdure.Execution) store.Needs { return store.Needs{Kinds: true} },
				Decide: func(s *store.State) (*store.Changes, error) {
					k := store.Kind{Org: org, Agent: true, Spec: perdure.KindSpec{Kind: "k"}, SeenAt: s.Now}
					if len(s.Kinds) > 0 {
						k = s.Kinds[0]
					}
					k.Spec.Providers = append(slices.Clone(k.Spec.Providers), name)
					return &store.Changes{Kinds: []store.Kind{k}}, nil
				},
			})
			if err != nil {
				f.Error(err)
			}
		})
	}
	all.Wait()
	kinds, err := f.s.Kinds(f.ctx, org)
	f.must(err)
	got := map[string]bool{}
	for _, k := range kinds {
		for _, name := range k.Spec.Providers {
			got[name] = true
		}
	}
	f.equal("the providers", got, want)
}
