package builtin

import (
	"slices"
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/tool"
)

// TestTheWorkerOffersTheCatalog checks that Catalog returns what the worker of the perdure program
// registers: its model providers, and all built-in tools, each with a description and a schema.
func TestTheWorkerOffersTheCatalog(t *testing.T) {
	providers, err := new(Worker).providers()
	if err != nil {
		t.Fatal(err)
	}
	names := func(all []perdure.ProviderInfo) (names []string) {
		for _, p := range all {
			names = append(names, p.Name)
		}
		return names
	}
	got := names(Catalog().Providers)
	slices.Sort(got)
	if want := providers.Names(); !slices.Equal(got, want) {
		t.Errorf("the catalog has the providers %v, the worker %v", got, want)
	}
	var tools, want []string
	for _, info := range Catalog().Tools {
		tools = append(tools, info.Name)
		if info.Description == "" || len(info.InputSchema) == 0 {
			t.Errorf("%s has no description or no schema", info.Name)
		}
	}
	for _, built := range tool.Builtin() {
		want = append(want, built.Name)
	}
	if !slices.Equal(tools, want) {
		t.Errorf("the catalog has the tools %v, the worker %v", tools, want)
	}
}
