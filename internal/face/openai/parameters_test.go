package openai_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/longtest"
	"github.com/perdure/perdure/llm"
	"github.com/perdure/perdure/llm/anthropic"
	"github.com/perdure/perdure/llm/gemini"
	"github.com/perdure/perdure/llm/llmtest"
	"github.com/perdure/perdure/llm/openai"
	"github.com/perdure/perdure/llm/openairesponses"
)

// TestRemotesAreTheKnownProviders checks that the parameters are tested with every known provider
// that has an API.
func TestRemotesAreTheKnownProviders(t *testing.T) {
	for _, p := range llm.KnownProviders() {
		if _, ok := remotes[p.Name]; !ok && p.Name != "scripted" {
			t.Errorf("remotes does not contain %s", p.Name)
		}
	}
}

// remotes are the fake servers of the providers to which the parameters of a create request are
// sent.
var remotes = map[string]llmtest.Remote{
	"anthropic": {
		Wire: llmtest.Anthropic, BaseEnv: "ANTHROPIC_BASE_URL", KeyEnv: "ANTHROPIC_API_KEY",
		New: func(e *llm.Endpoints, c *http.Client) llm.Provider {
			return anthropic.New(anthropic.Config{Endpoints: e, Client: c})
		},
	},
	"openai": {
		Wire: llmtest.OpenAI, BaseEnv: "OPENAI_BASE_URL", KeyEnv: "OPENAI_API_KEY", BasePath: "/v1",
		New: func(e *llm.Endpoints, c *http.Client) llm.Provider {
			return openai.New(openai.Config{Endpoints: e, Client: c})
		},
	},
	"openai-responses": {
		Wire: llmtest.OpenAIResponses, BaseEnv: "OPENAI_BASE_URL", KeyEnv: "OPENAI_API_KEY", BasePath: "/v1",
		New: func(e *llm.Endpoints, c *http.Client) llm.Provider {
			return openairesponses.New(openairesponses.Config{Endpoints: e, Client: c})
		},
	},
	"gemini": {
		Wire: llmtest.Gemini, BaseEnv: "GOOGLE_GEMINI_BASE_URL", KeyEnv: "GEMINI_API_KEY",
		New: func(e *llm.Endpoints, c *http.Client) llm.Provider {
			return gemini.New(gemini.Config{Endpoints: e, Client: c})
		},
	},
}

// wired is a stage whose agents call fake model servers with the real clients of the providers.
type wired struct {
	*stage
	servers map[string]*llmtest.Server
	done    map[string]bool // what was checked of a parameter: passed on, echoed, refused, or handled by Perdure
}

func newWired(t *testing.T, answers ...llmtest.Answer) *wired {
	t.Helper()
	if len(answers) == 0 {
		answers = []llmtest.Answer{{Text: []string{"ok"}, Usage: perdure.Usage{Input: 3, Output: 2}}}
	}
	w := &wired{servers: map[string]*llmtest.Server{}, done: map[string]bool{}}
	var providers []llm.Provider
	for _, name := range slices.Sorted(maps.Keys(remotes)) {
		var p llm.Provider
		p, w.servers[name] = remotes[name].Serve(t, answers...)
		providers = append(providers, p)
	}
	w.stage = newStageBeside(t, providers)
	return w
}

// last returns the body of the newest request to a provider.
func (w *wired) last(provider string) map[string]any {
	w.t.Helper()
	all := w.servers[provider].Requests()
	if len(all) == 0 {
		w.t.Fatalf("%s was not called", provider)
	}
	return all[len(all)-1].Body
}

// at returns the value at a path of JSON members, such as a.0.b; nil if there is none.
func at(v any, path string) any {
	for _, name := range strings.Split(path, ".") {
		switch in := v.(type) {
		case map[string]any:
			v = in[name]
		case []any:
			i, err := strconv.Atoi(name)
			if err != nil || i >= len(in) {
				return nil
			}
			v = in[i]
		default:
			return nil
		}
	}
	return v
}

// sends creates a response and checks the request that the provider of the model received. The map
// `want` contains the expected values by their paths; nil means that there is no value.
func (w *wired) sends(model, members string, want map[string]any) object {
	w.t.Helper()
	o := w.call("POST", "/v1/responses", `{"model":"`+model+`",`+members+`}`).object()
	if o.Status != "completed" {
		w.t.Errorf("%s with %s: %s", model, members, o.raw)
	}
	provider, _, _ := strings.Cut(model, "/")
	sent := w.last(provider)
	for path, value := range want {
		if got := at(sent, path); fmt.Sprint(got) != fmt.Sprint(value) {
			w.t.Errorf("%s with %s was sent %s = %v, want %v", model, members, path, got, value)
		}
	}
	w.done["passed on"] = true
	return o
}

// passes checks a parameter with every model in the parameter `want`, by calling the method
// `sends`.
func (w *wired) passes(members string, want map[string]map[string]any) {
	w.t.Helper()
	for model, sent := range want {
		w.sends(model, `"input":"a",`+members, sent)
	}
}

// echoes checks members of the response object.
func (w *wired) echoes(members string, want map[string]any) object {
	w.t.Helper()
	o := w.create(members).object()
	for path, value := range want {
		if got := at(w.shown(o), path); fmt.Sprint(got) != fmt.Sprint(value) {
			w.t.Errorf("%s is shown with %s = %v, want %v", members, path, got, value)
		}
	}
	w.done["echoed"] = true
	return o
}

func (w *wired) shown(o object) any {
	w.t.Helper()
	var v any
	if err := json.Unmarshal(o.raw, &v); err != nil {
		w.t.Fatal(err)
	}
	return v
}

// refuses checks that a create request with the members gets 400, with an error that names the
// parameter.
func (w *wired) refuses(param, members string) {
	w.t.Helper()
	r := w.create(`"input":"a",` + members)
	var e struct{ Error struct{ Param, Code string } }
	if err := json.Unmarshal(r.body, &e); err != nil || r.status != 400 || e.Error.Param != param || e.Error.Code == "" {
		w.t.Errorf("%s: got %d %s, want 400 with param %s", members, r.status, r.body, param)
	}
	w.done["refused"] = true
}

// takes checks that a create request with the members is accepted, although their values have no
// effect.
func (w *wired) takes(members string) {
	w.t.Helper()
	if r := w.create(`"input":"a",` + members); r.status != 200 {
		w.t.Errorf("%s: got %d %s", members, r.status, r.body)
	}
}

// here records the check of a parameter that is handled by Perdure and not by a provider.
func (w *wired) here(ok bool, format string, args ...any) {
	w.t.Helper()
	if !ok {
		w.t.Errorf(format, args...)
	}
	w.done["done here"] = true
}

var parameterRow = regexp.MustCompile("(?m)^\\| `([a-z_.]+)` \\| ([a-z ]+) \\|")

// documented returns how each parameter is handled, from the table of parameters in the
// documentation.
func documented(t *testing.T) map[string]string {
	t.Helper()
	page, err := os.ReadFile("../../../docs/responses-endpoint.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]string{}
	for _, row := range parameterRow.FindAllStringSubmatch(string(page), -1) {
		rows[row[1]] = row[2]
	}
	return rows
}

// TestParametersAreHandledAsTheTableSays checks each row of the documented table of parameters. A
// parameter that is passed on reaches each provider that supports it, and is omitted for other
// providers. A refused parameter gets a 400 that names it. Each row has a case.
func TestParametersAreHandledAsTheTableSays(t *testing.T) {
	longtest.Skip(t, "seconds")
	rows := documented(t)
	for name := range parameterCases {
		if rows[name] == "" {
			t.Errorf("%s has a case here, and no row in the table", name)
		}
	}
	for name, how := range rows {
		run := parameterCases[name]
		if run == nil {
			t.Errorf("%s has a row in the table, and no case here", name)
			continue
		}
		t.Run(name, func(t *testing.T) {
			w := newWired(t)
			run(w)
			if !w.done[how] {
				t.Errorf("the table says that it is %s, and the case checks %v", how, w.done)
			}
		})
	}
	if known := []string{"done here", "passed on", "refused"}; !slices.Equal(slices.Compact(slices.Sorted(maps.Values(rows))), known) {
		t.Errorf("the table says %v, want each of %v", rows, known)
	}
}

// TestReasoningTokensAreTheProviders checks that the number of reasoning tokens is the one that the
// provider has reported, and that the output tokens include them.
func TestReasoningTokensAreTheProviders(t *testing.T) {
	const thought = 7
	w := newWired(t, llmtest.Answer{Text: []string{"ok"}, Usage: perdure.Usage{Input: 3, Output: 20, Reasoning: new(int64(thought))}})
	for _, model := range []string{claude, chatGPT5, directGPT5, google} {
		o := w.sends(model, `"input":"a"`, nil)
		u := at(w.shown(o), "usage")
		if at(u, "output_tokens_details.reasoning_tokens") != float64(thought) || at(u, "output_tokens") != 20.0 || at(u, "total_tokens") != 23.0 {
			t.Errorf("%s: usage is %v", model, u)
		}
	}
}
