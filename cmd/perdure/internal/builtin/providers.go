package builtin

import (
	"os"
	"slices"
	"strings"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/cmd/perdure/internal/setup"
	"github.com/perdure/perdure/cmd/perdure/internal/terminal"
	"github.com/perdure/perdure/llm"
	"github.com/perdure/perdure/llm/anthropic"
	"github.com/perdure/perdure/llm/gemini"
	"github.com/perdure/perdure/llm/openai"
	"github.com/perdure/perdure/llm/openairesponses"
	"github.com/perdure/perdure/llm/scripted"
)

// CheckProviders refuses a model whose provider this program does not have.
func (w *Worker) CheckProviders(models []perdure.ModelConfig) error {
	providers, err := w.providers()
	if err != nil {
		return err
	}
	for _, m := range models {
		if known := providers.Names(); !slices.Contains(known, m.Provider) {
			return setup.NewUsageError("there is no provider "+m.Provider, "the providers are: "+strings.Join(known, ", ")+"; "+ModelSyntax)
		}
	}
	return nil
}

// CheckModels refuses, before a run is created, models that this process's own worker could not
// call.
func (w *Worker) CheckModels(models []perdure.ModelConfig) error {
	if err := w.CheckProviders(models); err != nil {
		return err
	}
	endpoints, err := w.endpoints()
	if err != nil {
		return err
	}
	for _, m := range models {
		if err := checkKey(endpoints, m); err != nil {
			return err
		}
	}
	return nil
}

func checkKey(endpoints *llm.Endpoints, m perdure.ModelConfig) error {
	if m.Provider == "scripted" {
		return nil
	}
	e, err := endpoints.Resolve(m.Provider, m.BaseURL, m.APIKeyEnv)
	if err != nil {
		return setup.NewUsageError("the model "+m.String()+" cannot be called from here: "+terminal.ErrorMessage(err), "allow its endpoint with --allow-endpoint URL=KEYVAR")
	}
	if e.KeyEnv != "" && strings.TrimSpace(os.Getenv(e.KeyEnv)) == "" {
		return setup.NewUsageError("there is no key for "+m.String(), "set "+e.KeyEnv+", or name another model with --model")
	}
	return nil
}

// endpoints returns the model servers that this process may call.
func (w *Worker) endpoints() (*llm.Endpoints, error) {
	var pairs []llm.Endpoint
	for _, text := range w.allow {
		pair, err := llm.ParseEndpoint(text)
		if err != nil {
			return nil, setup.NewUsageError("--allow-endpoint "+perdure.HidePassword(text)+": "+terminal.ErrorMessage(err), "write it like https://models.example.com/v1=EXAMPLE_API_KEY")
		}
		pairs = append(pairs, pair)
	}
	return llm.NewEndpoints(nil, pairs...)
}

// remote returns the providers of this program that call servers.
func remote(c llm.Config) []llm.Provider {
	return []llm.Provider{anthropic.New(c), openai.New(c), openairesponses.New(c), gemini.New(c)}
}

// providers returns all providers of this program, whether or not their keys are set.
func (w *Worker) providers() (*llm.Providers, error) {
	endpoints, err := w.endpoints()
	if err != nil {
		return nil, err
	}
	prices, windows, err := w.models()
	if err != nil {
		return nil, err
	}
	web := llm.NewClient(llm.TransportConfig{AllowHosts: endpoints.Hosts(), AllowLoopback: w.Dev})
	providers := llm.NewProviders(remote(llm.Config{Endpoints: endpoints, Client: web, Prices: prices})...)
	providers.Register(scripted.New(scripted.Config{Dir: w.scripts, Journal: os.Getenv("PERDURE_SCRIPTED_JOURNAL")}))
	providers.SetWindows(windows)
	providers.SetLogger(w.Logger)
	return providers, nil
}

// warnOfPlainKeys warns about each API key that is an ordinary word or too short. If a provider's
// output contains such a key, this program does not hide the key in the output. The warning does
// not contain the key.
func (w *Worker) warnOfPlainKeys() error {
	endpoints, err := w.endpoints()
	if err != nil {
		return err
	}
	var names []string
	for _, e := range endpoints.Allowed() {
		if key := os.Getenv(e.APIKeyEnv); key != "" && llm.PlainKey(key) && !slices.Contains(names, e.APIKeyEnv) {
			names = append(names, e.APIKeyEnv)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		w.Logger.Warn("the key is a plain word or too short, so it is not hidden where a provider repeats it; if it is a secret, use a longer one", "variable", name)
	}
	return nil
}
