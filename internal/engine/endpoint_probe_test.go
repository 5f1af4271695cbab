package engine

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/rules/tenant"
	"github.com/perdure/perdure/llm"
	"github.com/perdure/perdure/llm/anthropic"
	"github.com/perdure/perdure/llm/gemini"
	"github.com/perdure/perdure/llm/openai"
	"github.com/perdure/perdure/react"
)

// endpointsOf returns the model endpoints that a worker allows. The parameter env has the worker's
// environment variables. Each of the pairs is an allowed endpoint with the variable of its key.
func endpointsOf(t *testing.T, env map[string]string, pairs ...llm.Endpoint) *llm.Endpoints {
	t.Helper()
	e, err := llm.NewEndpoints(func(name string) string { return env[name] }, pairs...)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// join registers a worker for the queue, with the react agent and the given model endpoints.
func (b *bench) join(queue string, e *llm.Endpoints) {
	b.Helper()
	c := llm.Config{Endpoints: e}
	spec := react.Agent(react.Config{Providers: llm.NewProviders(anthropic.New(c), openai.New(c), gemini.New(c))}).Spec
	_, err := b.d.Register(b.Context(), perdure.Registration{WorkerID: uuid.New(), Queues: []string{queue}, Agents: []perdure.KindSpec{spec}})
	b.must(err)
}

var (
	triedURLs = []string{
		"", "https://api.anthropic.com", "https://API.anthropic.com:443/v1", "https://api.openai.com/v1", "http://api.openai.com/v1",
		"https://models.example/v1", "https://models.example:8443/v1", "http://127.0.0.1:11434/v1", "https://proxy.example",
	}
	triedKeys = []string{"", "ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY", "EXAMPLE_API_KEY", "HOME"}
)

// TestEndpointsAreRefusedAsTheWorkerWould checks that the server refuses exactly the models that
// the only worker of a queue would refuse, in starts and in definitions.
func TestEndpointsAreRefusedAsTheWorkerWould(t *testing.T) {
	for name, e := range map[string]*llm.Endpoints{
		"defaults": endpointsOf(t, nil),
		"pairs":    endpointsOf(t, nil, llm.Endpoint{BaseURL: "https://models.example/v1", KeyEnv: "EXAMPLE_API_KEY"}, llm.Endpoint{BaseURL: "http://127.0.0.1:11434/v1"}),
		"others":   endpointsOf(t, map[string]string{"ANTHROPIC_BASE_URL": "https://proxy.example", "GOOGLE_API_KEY": "x"}),
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.join("default", e)
			refused := 0
			for _, provider := range []string{"anthropic", "openai", "gemini"} {
				for _, base := range triedURLs {
					for _, key := range triedKeys {
						m := []perdure.ModelConfig{{Provider: provider, ModelID: "m", BaseURL: base, APIKeyEnv: key}}
						allowed := e.Check(provider, base, key) == nil
						_, started := b.e.Start(t.Context(), org, StartRequest{Models: m, UserPrompt: "hi"})
						_, created := b.e.Definitions.Create(t.Context(), org, perdure.Definition{Name: "n", Slug: "s" + uuid.NewString(), Models: m})
						if (started == nil) != allowed || (created == nil) != allowed {
							t.Errorf("%s at %q with %q: the worker allows it: %v, a start gives %v, a definition %v", provider, base, key, allowed, started, created)
						}
						if !allowed {
							refused++
						}
					}
				}
			}
			if refused == 0 {
				t.Error("nothing was refused")
			}
		})
	}
}

// TestEndpointsGoByTheQueue checks that the error of a refused start names the field and the allowed
// pairs of endpoint and key variable, and that nothing is stored. For a start, only the endpoints of
// its queue count; for a definition, those of all queues.
func TestEndpointsGoByTheQueue(t *testing.T) {
	b := newBench(t)
	b.join("default", endpointsOf(t, nil))
	b.join("big", endpointsOf(t, nil, llm.Endpoint{BaseURL: "https://models.example/v1", KeyEnv: "EXAMPLE_API_KEY"}))
	m := []perdure.ModelConfig{{Provider: "anthropic", ModelID: "m"}, {Provider: "openai", ModelID: "m", BaseURL: "https://models.example/v1", APIKeyEnv: "EXAMPLE_API_KEY"}}
	start := func(queue string) error {
		_, err := b.e.Start(t.Context(), org, StartRequest{Models: m, UserPrompt: "hi", Queue: queue})
		return err
	}
	for _, queue := range []string{"", "default"} {
		wantRefused(t, start(queue), "models[1].baseUrl", `"default"`, "https://models.example:443 with EXAMPLE_API_KEY", "https://api.openai.com:443 with OPENAI_API_KEY")
	}
	b.must(start("big"))
	b.must(start("nobody registered for it"))
	d, err := b.e.Definitions.Create(t.Context(), org, perdure.Definition{Name: "n", Slug: "n", Models: m})
	b.must(err)
	_, err = b.e.Start(t.Context(), org, StartRequest{DefinitionID: &d.ID, UserPrompt: "hi"})
	wantRefused(t, err, "models[1].baseUrl", `"default"`)
	changed := *d
	changed.Models = []perdure.ModelConfig{{Provider: "openai", ModelID: "m", APIKeyEnv: "HOME"}}
	_, err = b.e.Definitions.Update(t.Context(), org, changed, 0)
	wantRefused(t, err, "models[0].apiKeyEnv", "https://models.example:443 with EXAMPLE_API_KEY")
	if now, err := b.e.Store.Definition(t.Context(), org, d.ID); err != nil || now.Version != d.Version {
		t.Errorf("the refused change left version %d, %v", now.Version, err)
	}
}

func wantRefused(t *testing.T, err error, field string, texts ...string) {
	t.Helper()
	coded, ok := err.(*perdure.Error)
	if !ok || coded.Code != perdure.InvalidArgument || len(coded.Fields) != 1 || coded.Fields[0].Location != field {
		t.Errorf("the answer is %v, want a refusal of %s", err, field)
		return
	}
	for _, text := range texts {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("the refusal does not say %q: %v", text, err)
		}
	}
}

// TestEndpointsOfAllWorkersCount checks that a model endpoint is allowed if one of the queue's
// workers registered it. Workers that register no endpoints, such as older builds, do not matter.
func TestEndpointsOfAllWorkersCount(t *testing.T) {
	b := newBench(t)
	b.register() // registers no endpoints
	m := []perdure.ModelConfig{{Provider: "anthropic", ModelID: "m", BaseURL: "https://one.example"}}
	start := func() error {
		_, err := b.e.Start(t.Context(), org, StartRequest{Models: m, UserPrompt: "hi"})
		return err
	}
	b.must(start())
	b.join("default", endpointsOf(t, nil, llm.Endpoint{BaseURL: "https://one.example"}))
	b.join("default", endpointsOf(t, nil, llm.Endpoint{BaseURL: "https://two.example"}))
	b.register()
	b.must(start())
	m[0].BaseURL = "https://two.example"
	b.must(start())
	m[0].BaseURL = "https://three.example"
	wantRefused(t, start(), "models[0].baseUrl", "https://one.example:443 with no key", "https://two.example:443 with no key")
}

// TestRegisteredEndpointsHoldNoSecret checks that a registration with a password or an API key in
// an endpoint is refused. The error does not contain the secret. The number of endpoints is
// limited.
func TestRegisteredEndpointsHoldNoSecret(t *testing.T) {
	b := newBench(t)
	register := func(queues []string, all ...perdure.ModelEndpoint) error {
		_, err := b.d.Register(t.Context(), perdure.Registration{
			WorkerID: uuid.New(), Queues: queues, Agents: []perdure.KindSpec{{Kind: perdure.ReactKind, Providers: []string{"anthropic"}, Endpoints: all}},
		})
		return err
	}
	const at = "agents[0].endpoints"
	for _, c := range []struct {
		e     perdure.ModelEndpoint
		field string
	}{
		{perdure.ModelEndpoint{Origin: "https://me:hunter22@models.example:443"}, at + "[0].origin"},
		{perdure.ModelEndpoint{Origin: "https://models.example:443/hunter22"}, at + "[0].origin"},
		{perdure.ModelEndpoint{Origin: "https://models.example"}, at + "[0].origin"},
		{perdure.ModelEndpoint{Origin: "https://models.example:443", APIKeyEnv: "sk-hunter22"}, at + "[0].apiKeyEnv"},
	} {
		err := register([]string{"default"}, c.e)
		wantRefused(t, err, c.field)
		if err != nil && strings.Contains(err.Error(), "hunter22") {
			t.Errorf("the refusal repeats what it refuses: %v", err)
		}
	}
	var many []perdure.ModelEndpoint
	for i := range perdure.MaxEndpoints + 1 {
		many = append(many, perdure.ModelEndpoint{Origin: fmt.Sprintf("https://m%d.example:443", i)})
	}
	wantRefused(t, register([]string{"default"}, many...), at)
	for i := range 10 {
		b.must(register([]string{fmt.Sprint("queue ", i)}, many[1:]...))
	}
	spec, err := b.e.Kinds.Spec(t.Context(), org, perdure.ReactKind)
	if err != nil || len(spec.Endpoints) != tenant.MaxKnownEndpoints || spec.Endpoints[0].Queue != "queue 9" {
		t.Errorf("%d endpoints are kept, %v", len(spec.Endpoints), err)
	}
}
