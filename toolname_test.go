package perdure_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/perdure/perdure"
)

// TestToolNamesAreThoseOfTheProviders checks that the name of a tool must be unique, and valid for each
// provider of the run. The error names the tool by its position in the list.
func TestToolNamesAreThoseOfTheProviders(t *testing.T) {
	const ok = ""
	long := func(n int) string { return strings.Repeat("x", n) }
	for _, c := range []struct {
		names, providers string
		field            string
	}{
		{"bash,read-file", "anthropic,openai,openai-responses,gemini,scripted", ok},
		{"bash,grep,bash", "scripted", "tools[2]"},
		{"bash,grep,bash", "own", "tools[2]"},
		{"bash,", "own", "tools[1]"},
		{"bash," + perdure.UnnamedTool, "own", "tools[1]"},
		{"any name: é", "own", ok},
		{"any name", "own,openai", "tools[0]"},
		{"grep,a.b", "gemini", ok},
		{"grep,a.b", "anthropic", "tools[1]"},
		{"grep,a.b", "openai", "tools[1]"},
		{"grep,a.b", "openai-responses", "tools[1]"},
		{"grep,a.b", "gemini,anthropic", "tools[1]"},
		{"7zip", "openai,anthropic", ok},
		{"7zip", "openai,gemini", "tools[0]"},
		{"_a", "gemini", ok},
		{"a\n", "openai", "tools[0]"},
		{long(64), "openai,openai-responses,gemini,anthropic", ok},
		{long(65), "anthropic", ok},
		{long(65), "openai", "tools[0]"},
		{long(65), "openai-responses", "tools[0]"},
		{long(65), "gemini", "tools[0]"},
		{long(128), "anthropic", ok},
		{long(129), "anthropic", "tools[0]"},
	} {
		var models []perdure.ModelConfig
		for _, p := range strings.Split(c.providers, ",") {
			models = append(models, perdure.ModelConfig{Provider: p, ModelID: "m"})
		}
		err := perdure.CheckToolNames(perdure.ListPlaces("tools"), strings.Split(c.names, ","), models)
		var coded *perdure.Error
		switch {
		case c.field == ok && err != nil:
			t.Errorf("%s with %s: %v", c.names, c.providers, err)
		case c.field != ok && (!errors.As(err, &coded) || coded.Code != perdure.InvalidArgument || coded.Fields[0].Location != c.field):
			t.Errorf("%s with %s: %v, want it refused at %s", c.names, c.providers, err, c.field)
		}
	}
}
