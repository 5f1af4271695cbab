package llm_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/llm"
	"github.com/perdure/perdure/llm/scripted"
)

func TestParseModel(t *testing.T) {
	m, err := llm.ParseModel("openai/meta-llama/Llama-3")
	if err != nil || m != (llm.Model{Provider: "openai", ID: "meta-llama/Llama-3"}) || m.String() != "openai/meta-llama/Llama-3" {
		t.Errorf("got %+v, %v", m, err)
	}
	for _, s := range []string{"", "gpt-4o", "/gpt-4o", "openai/"} {
		if _, err := llm.ParseModel(s); !perdure.IsCode(err, perdure.InvalidArgument) {
			t.Errorf("%q: got %v, want invalid_argument", s, err)
		}
	}
}

func TestProviders(t *testing.T) {
	ps := llm.NewProviders(scripted.New(scripted.Config{}))
	if p, err := ps.Lookup("scripted"); err != nil || p.Name() != "scripted" {
		t.Errorf("got %v, %v", p, err)
	}
	_, err := ps.Lookup("scriptd")
	if !perdure.IsCode(err, perdure.InvalidArgument) || !strings.Contains(err.Error(), "scripted") {
		t.Errorf("got %v, want invalid_argument that lists the known ones", err)
	}
	if names := ps.Names(); !slices.Equal(names, []string{"scripted"}) {
		t.Errorf("names are %v", names)
	}
	if _, err := new(llm.Providers).Lookup("x"); err == nil {
		t.Error("the zero value knows a provider")
	}
}

func TestCost(t *testing.T) {
	u := perdure.Usage{Input: 1_000_000, Output: 100_000, CacheRead: 2_000_000, CacheWrite: 400_000}
	for model, want := range map[string]float64{
		"anthropic/claude-sonnet-4-5":          3 + 1.5 + 0.6 + 1.5,
		"anthropic/claude-sonnet-4-5-20250929": 3 + 1.5 + 0.6 + 1.5,
		"openai/gpt-4o":                        2.5 + 1 + 2.5 + 1,
		"openai/gpt-4o-2024-08-06":             2.5 + 1 + 2.5 + 1,
		"openai/gpt-4o-2024-05-13":             5 + 1.5 + 10 + 2,
		"scripted/any":                         0,
	} {
		m, _ := llm.ParseModel(model)
		cost := llm.Prices(nil).Cost(m, u)
		if cost == nil || math.Abs(cost.Total-want) > 1e-9 {
			t.Errorf("%s costs %v, want %v", model, cost, want)
		}
	}
	// Tokens read from and written to the cache are part of the input cost.
	m, _ := llm.ParseModel("anthropic/claude-sonnet-4-5")
	if c := llm.Prices(nil).Cost(m, u); math.Abs(c.Input-5.1) > 1e-9 || math.Abs(c.Output-1.5) > 1e-9 || c.Total != c.Input+c.Output {
		t.Errorf("the cost is %+v", c)
	}
	// A model whose id only begins with the id of a known model has no price.
	for _, model := range []string{"openai/gpt-4o-audio-preview", "openai/gpt-5-pro", "anthropic/claude-opus-4-9", "anthropic/gpt-4o", "openai/gpt-4"} {
		m, _ := llm.ParseModel(model)
		if cost := llm.Prices(nil).Cost(m, u); cost != nil {
			t.Errorf("%s costs %v, want unknown", model, *cost)
		}
	}
	own := llm.Prices{{Provider: "openai", ID: "mine"}: {Output: 10}}
	if cost := own.Cost(llm.Model{Provider: "openai", ID: "mine"}, u); cost == nil || cost.Total != 1 {
		t.Errorf("own price gives %v", cost)
	}
}

func TestBuilderFolds(t *testing.T) {
	var deltas []llm.Delta
	b := llm.NewBuilder(func(d llm.Delta) error { deltas = append(deltas, d); return nil })
	calls := llm.NewCalls(b, "p")
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	start := func(name, id string) *llm.Call {
		c, err := calls.Start(name, id)
		must(err)
		return c
	}
	must(b.Thinking("a"))
	must(b.Thinking("b"))
	must(b.Text("c"))
	must(b.Text(""))
	one := start("f", "")
	two := start("g", "2")
	must(calls.Append(one, `{"x":`))
	must(calls.Append(two, `{"y"`))
	must(calls.Append(one, `1}`))
	must(calls.Identify(one, "", "late"))
	again := start("g", "2")
	must(calls.Append(again, `{"y"`))
	must(b.Text("d"))
	must(calls.Finish())
	want := []perdure.Part{
		{Type: perdure.PartThinking, Thinking: "ab"},
		perdure.Text("c"),
		{Type: perdure.PartToolCall, ProviderID: "late", Name: "f", RawArguments: `{"x":1}`, Arguments: []byte(`{"x":1}`)},
		{Type: perdure.PartToolCall, ProviderID: "2", Name: "g", RawArguments: `{"y"`},
		perdure.Text("d"),
	}
	if diff := cmp.Diff(want, b.Parts()); diff != "" {
		t.Errorf("parts (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want, llm.Fold(deltas)); diff != "" {
		t.Errorf("folded (-want +got):\n%s", diff)
	}
}

func TestNamelessCall(t *testing.T) {
	b := llm.NewBuilder(nil)
	calls := llm.NewCalls(b, "p")
	call, err := calls.Start("", "1")
	if err == nil {
		err = calls.Append(call, `{"a":1}`)
	}
	if err == nil {
		err = calls.Finish()
	}
	want := []perdure.Part{{Type: perdure.PartToolCall, Name: perdure.UnnamedTool, ProviderID: "1", RawArguments: `{"a":1}`, Arguments: []byte(`{"a":1}`)}}
	if diff := cmp.Diff(want, b.Parts()); err != nil || diff != "" {
		t.Errorf("%v, parts (-want +got):\n%s", err, diff)
	}
}
