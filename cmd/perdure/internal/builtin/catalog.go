package builtin

import (
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/llm"
	"github.com/perdure/perdure/react"
	"github.com/perdure/perdure/tool"
)

// Catalog returns the built-in model providers and tools of this program, and the code that rebuilds
// the requests of recorded model calls.
func Catalog() perdure.Catalog {
	c := perdure.Catalog{Providers: llm.KnownProviders(), Tools: tool.Infos(tool.Builtin()...)}
	endpoints, err := llm.NewEndpoints(nil)
	if err != nil { // an environment variable with an invalid URL; workers report it
		endpoints, err = llm.NewEndpoints(func(string) string { return "" })
	}
	if err == nil {
		c.Calls = react.Calls{Providers: llm.NewProviders(remote(llm.Config{Endpoints: endpoints})...)}
	}
	return c
}
