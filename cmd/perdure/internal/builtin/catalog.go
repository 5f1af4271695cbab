package builtin

import (
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/llm"
	"github.com/perdure/perdure/react"
	"github.com/perdure/perdure/tool"
)

// Catalog returns the providers and tools that this program offers by itself, and what rebuilds model
// calls.
func Catalog() perdure.Catalog {
	c := perdure.Catalog{Providers: llm.KnownProviders(), Tools: tool.Infos(tool.Builtin()...)}
	endpoints, err := llm.NewEndpoints(nil)
	if err != nil { // a variable with an address that is no URL, which workers report
		endpoints, err = llm.NewEndpoints(func(string) string { return "" })
	}
	if err == nil {
		c.Calls = react.Calls{Providers: llm.NewProviders(remote(llm.Config{Endpoints: endpoints})...)}
	}
	return c
}
