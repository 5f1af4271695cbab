package llm_test

import (
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/llm"
)

// TestKnownProvidersAreThoseThatExist checks that each folder of llm with a file provider.go is a
// known provider, and that there are no others. Each provider except scripted has an environment
// variable for its key, and a default model with a price.
func TestKnownProvidersAreThoseThatExist(t *testing.T) {
	folders, err := filepath.Glob("*/provider.go")
	if err != nil {
		t.Fatal(err)
	}
	var want, names []string
	for _, file := range folders {
		want = append(want, filepath.Dir(file))
	}
	for _, p := range llm.KnownProviders() {
		names = append(names, strings.ReplaceAll(p.Name, "-", ""))
		if p.Name == "scripted" {
			if p.DefaultModel != "" || len(p.APIKeyEnvs) > 0 || len(p.Models) > 0 {
				t.Errorf("scripted has keys or models: %+v", p)
			}
			continue
		}
		if len(p.APIKeyEnvs) == 0 || !slices.ContainsFunc(p.Models, func(m perdure.ModelInfo) bool { return m.ID == p.DefaultModel && m.Price.Input > 0 }) {
			t.Errorf("%s has no key variable, or a default model %q without a price", p.Name, p.DefaultModel)
		}
	}
	slices.Sort(names)
	if !slices.Equal(names, want) {
		t.Errorf("known are %v, and there are the folders %v", names, want)
	}
}

// TestRemotesAreTheKnownProviders checks that the list `remotes`, which the tests of all providers
// use, contains every known provider except scripted.
func TestRemotesAreTheKnownProviders(t *testing.T) {
	endpoints, err := llm.NewEndpoints(nil)
	if err != nil {
		t.Fatal(err)
	}
	called := map[string]bool{"scripted": true}
	for _, r := range remotes {
		called[r.New(endpoints, http.DefaultClient).Name()] = true
	}
	for _, p := range llm.KnownProviders() {
		if !called[p.Name] {
			t.Errorf("remotes, in crossing_test.go, does not contain %s", p.Name)
		}
	}
}

func TestTheDefaultModelFollowsTheKeys(t *testing.T) {
	for variables, want := range map[string]string{
		"":                  "",
		"ANTHROPIC_API_KEY": "anthropic/claude-sonnet-5-5",
		"OPENAI_API_KEY":    "openai/gpt-5.4",
		"GEMINI_API_KEY":    "gemini/gemini-3-flash-preview",
		"GOOGLE_API_KEY":    "gemini/gemini-3-flash-preview",
	} {
		model, ok := llm.DefaultModel(func(name string) string {
			if name == variables {
				return "key"
			}
			return ""
		})
		if ok != (want != "") || ok && model.String() != want {
			t.Errorf("with %q set: %v %t, want %q", variables, model, ok, want)
		}
	}
	both, _ := llm.DefaultModel(func(name string) string {
		return map[string]string{"ANTHROPIC_API_KEY": "a", "OPENAI_API_KEY": "b"}[name]
	})
	if both.Provider != "anthropic" {
		t.Errorf("with two keys: %v", both)
	}
}
