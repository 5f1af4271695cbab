package engine

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

func jsonInto(raw json.RawMessage, v any) error { return json.Unmarshal(raw, v) }

var scripted = []perdure.ModelConfig{{Provider: "scripted", ModelID: "m"}}

func TestStartWithAKeyIsOne(t *testing.T) {
	b := newBench(t)
	request := func(body string) StartRequest {
		return StartRequest{Kind: "agent", IdempotencyKey: "k", RequestHash: sha256.Sum256([]byte(body)), Input: json.RawMessage(body)}
	}
	first, err := b.e.Start(t.Context(), org, request(`1`))
	b.must(err)
	var wg sync.WaitGroup
	for range 5 {
		wg.Go(func() {
			again, err := b.e.Start(t.Context(), org, request(`1`))
			if err != nil || again.ID != first.ID {
				t.Errorf("the repeat gave %v, %v", again, err)
			}
		})
	}
	wg.Wait()
	_, err = b.e.Start(t.Context(), org, request(`2`))
	b.wantCode(err, perdure.IdempotencyKeyReused)
	// The idempotency key belongs to the org, and is valid for a day.
	_, err = b.e.Dispatch("globex", false).Register(t.Context(), perdure.Registration{Agents: []perdure.KindSpec{{Kind: "agent"}}})
	b.must(err)
	other, err := b.e.Start(t.Context(), "globex", request(`2`))
	b.must(err)
	b.clock.advance(24*time.Hour + time.Second)
	later, err := b.e.Start(t.Context(), org, request(`2`))
	b.must(err)
	if other.ID == first.ID || later.ID == first.ID {
		t.Error("another org, or another day, got the same execution")
	}
}

func TestStartsThatAreRefused(t *testing.T) {
	b := newBench(t)
	_, err := b.e.Start(t.Context(), "globex", StartRequest{Kind: "agent"})
	b.wantCode(err, perdure.Unavailable) // no worker of the org has ever registered
	missing := uuid.New()
	turns, hot := 0, 3.0
	for name, test := range map[string]struct {
		r        StartRequest
		code     perdure.Code
		location string
		says     string
	}{
		"an unknown kind":        {StartRequest{Kind: "nobody"}, perdure.InvalidArgument, "kind", "agent, react-agent, strict"},
		"an unknown provider":    {StartRequest{Models: []perdure.ModelConfig{{Provider: "nobody", ModelID: "m"}}}, perdure.InvalidArgument, "models[0].provider", "anthropic, scripted"},
		"another unknown one":    {StartRequest{Models: append(slices.Clone(scripted), perdure.ModelConfig{Provider: "nobody", ModelID: "m"})}, perdure.InvalidArgument, fmt.Sprintf("models[%d].provider", len(scripted)), "anthropic, scripted"},
		"no model":               {StartRequest{}, perdure.InvalidArgument, "models", ""},
		"a model without an id":  {StartRequest{Models: []perdure.ModelConfig{{Provider: "scripted"}}}, perdure.InvalidArgument, "models[0].modelId", ""},
		"a one-shot for nothing": {StartRequest{Models: scripted, OneShot: true}, perdure.InvalidArgument, "userPrompt", ""},
		"a prompt that calls":    {StartRequest{Models: scripted, Parts: contentOf(t, calling(nil, "x")).Parts}, perdure.InvalidArgument, "parts[1].type", "toolCall"},
		"no turns":               {StartRequest{Models: scripted, Config: perdure.AgentConfig{MaxTurns: &turns}}, perdure.InvalidArgument, "config.maxTurns", ""},
		"a high temperature":     {StartRequest{Models: scripted, Config: perdure.AgentConfig{Temperature: &hot}}, perdure.InvalidArgument, "config.temperature", ""},
		"deep thought":           {StartRequest{Models: scripted, Config: perdure.AgentConfig{Thinking: "deep"}}, perdure.InvalidArgument, "config.thinking", ""},
		"input for a prompt":     {StartRequest{Models: scripted, Input: json.RawMessage(`{}`)}, perdure.InvalidArgument, "input", ""},
		"input of another shape": {StartRequest{Kind: "strict", Input: json.RawMessage(`{"n":"x"}`)}, perdure.InvalidArgument, "input.n", ""},
		"a folder outside":       {StartRequest{Kind: "agent", Workspace: "a/../../b"}, perdure.InvalidArgument, "workspace", ""},
		"an absolute folder":     {StartRequest{Kind: "agent", Workspace: "/etc"}, perdure.InvalidArgument, "workspace", ""},
		"a long queue":           {StartRequest{Kind: "agent", Queue: strings.Repeat("q", 300)}, perdure.InvalidArgument, "queue", ""},
		"too much input":         {StartRequest{Kind: "agent", Input: json.RawMessage(`"` + strings.Repeat("x", 1<<20) + `"`)}, perdure.PayloadTooLarge, "", ""},
		"a definition of nobody": {StartRequest{DefinitionID: &missing, Models: scripted}, perdure.NotFound, "", ""},
	} {
		_, err := b.e.Start(t.Context(), org, test.r)
		coded, ok := err.(*perdure.Error)
		if !ok || coded.Code != test.code || !strings.Contains(coded.Message, test.says) {
			t.Errorf("%s gave %v, want %s saying %q", name, err, test.code, test.says)
			continue
		}
		if test.location != "" && (len(coded.Fields) != 1 || coded.Fields[0].Location != test.location) {
			t.Errorf("%s names %+v, want %s", name, coded.Fields, test.location)
		}
	}
}

func TestStartCopiesItsDefinition(t *testing.T) {
	b := newBench(t)
	turns, tokens := 5, 100
	d, err := b.e.Definitions.Create(t.Context(), org, perdure.Definition{
		Name: "Reviewer", Slug: "reviewer", SystemPrompt: "be kind", Models: scripted, Tools: []string{"grep"},
		Config: perdure.AgentConfig{MaxTurns: &turns, Thinking: "low"},
	})
	b.must(err)
	x, err := b.e.Start(t.Context(), org, StartRequest{DefinitionID: &d.ID, UserPrompt: "hi", Config: perdure.AgentConfig{MaxTokens: &tokens, Thinking: "high"}})
	b.must(err)
	var in perdure.ReactInput
	b.must(json.Unmarshal(x.Input, &in))
	if in.SystemPrompt != "be kind" || len(in.Tools) != 1 || *in.Config.MaxTurns != 5 || *in.Config.MaxTokens != 100 || in.Config.Thinking != "high" {
		t.Errorf("the input is %s", x.Input)
	}
	// Later changes of the definition, and its deletion, do not affect the execution.
	d.SystemPrompt = "be harsh"
	_, err = b.e.Definitions.Update(t.Context(), org, *d, d.Version)
	b.must(err)
	b.must(b.e.Definitions.Delete(t.Context(), org, d.ID))
	y := b.execution(x.ID)
	if string(y.Input) != string(x.Input) || y.DefinitionID != nil {
		t.Errorf("after the deletion: definition %v, input %s", y.DefinitionID, y.Input)
	}
	_, err = b.e.Start(t.Context(), org, StartRequest{DefinitionID: &d.ID})
	b.wantCode(err, perdure.NotFound)
}

func TestDefinitionConflicts(t *testing.T) {
	b := newBench(t)
	make := func(slug string) *perdure.Definition {
		d, err := b.e.Definitions.Create(t.Context(), org, perdure.Definition{Name: "A", Slug: slug, Models: scripted})
		b.must(err)
		return d
	}
	one, two := make("one"), make("two")
	_, err := b.e.Definitions.Create(t.Context(), org, perdure.Definition{Name: "B", Slug: "one", Models: scripted})
	b.wantCode(err, perdure.AlreadyExists)
	two.Slug = "one"
	_, err = b.e.Definitions.Update(t.Context(), org, *two, 0)
	b.wantCode(err, perdure.AlreadyExists)
	one.Name = "renamed"
	got, err := b.e.Definitions.Update(t.Context(), org, *one, 1)
	b.must(err)
	if got.Version != 2 || got.Name != "renamed" || !got.CreatedAt.Equal(one.CreatedAt.Time) {
		t.Errorf("updated it is %+v", got)
	}
	_, err = b.e.Definitions.Update(t.Context(), org, *one, 1)
	b.wantCode(err, perdure.Conflict)
	_, err = b.e.Definitions.Update(t.Context(), "globex", *one, 0)
	b.wantCode(err, perdure.Unavailable) // no kind is known in that org
	b.wantCode(b.e.Definitions.Delete(t.Context(), "globex", one.ID), perdure.NotFound)
	for name, d := range map[string]perdure.Definition{
		"no name":              {Slug: "x", Models: scripted},
		"a slug with capitals": {Name: "X", Slug: "X", Models: scripted},
		"no model":             {Name: "X", Slug: "x"},
		"an unknown provider":  {Name: "X", Slug: "x", Models: []perdure.ModelConfig{{Provider: "nobody", ModelID: "m"}}},
	} {
		if _, err := b.e.Definitions.Create(t.Context(), org, d); !perdure.IsCode(err, perdure.InvalidArgument) {
			t.Errorf("%s gave %v", name, err)
		}
	}
}

func TestKeysAreRevoked(t *testing.T) {
	b := newBench(t)
	key, secret, err := b.e.CreateKey(t.Context(), org, "ci", perdure.KeyClient)
	b.must(err)
	got, err := b.e.Authenticate(t.Context(), secret)
	b.must(err)
	if got.ID != key.ID || got.Org != org || got.Role != perdure.KeyClient {
		t.Errorf("the key is %+v", got)
	}
	_, err = b.e.Authenticate(t.Context(), secret+"x")
	b.wantCode(err, perdure.Unauthenticated)
	_, err = b.e.RevokeKey(t.Context(), "globex", key.ID)
	b.wantCode(err, perdure.NotFound)
	revoked, err := b.e.RevokeKey(t.Context(), org, key.ID)
	b.must(err)
	if revoked.RevokedAt == nil {
		t.Error("it is not marked")
	}
	_, err = b.e.Authenticate(t.Context(), secret)
	b.wantCode(err, perdure.Unauthenticated)
	for _, name := range []string{"token", "process", "expiry", "grant", " Grant "} {
		if _, _, err = b.e.CreateKey(t.Context(), org, name, perdure.KeyApprover); !perdure.IsCode(err, perdure.InvalidArgument) {
			t.Errorf("a key with the reserved name %q: %v", name, err)
		}
	}
	if _, _, err = b.e.CreateKey(t.Context(), org, "x", "king"); !perdure.IsCode(err, perdure.InvalidArgument) {
		t.Errorf("an unknown role gave %v", err)
	}
}
