package setup

import (
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/llm"
	"github.com/perdure/perdure/tool"
)

// Catalog returns the providers and tools that this program offers by itself.
func Catalog() perdure.Catalog {
	return perdure.Catalog{Providers: llm.KnownProviders(), Tools: tool.Infos(tool.Builtin()...)}
}
