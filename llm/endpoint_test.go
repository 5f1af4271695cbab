package llm_test

import (
	"strings"
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/llm"
)

func TestEndpoints(t *testing.T) {
	env := map[string]string{"OPENAI_BASE_URL": "http://10.0.0.7:8000/v1", "OPENAI_API_KEY": "k"}
	endpoints, err := llm.NewEndpoints(func(name string) string { return env[name] },
		llm.Endpoint{BaseURL: "https://Models.example.com/openai/v1", KeyEnv: "EXAMPLE_KEY"},
		llm.Endpoint{BaseURL: "http://127.0.0.1:11434/v1"})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		provider, base, key string
		want                llm.Endpoint // zero means permission_denied
	}{
		{"anthropic", "", "", llm.Endpoint{BaseURL: "https://api.anthropic.com", KeyEnv: "ANTHROPIC_API_KEY"}},
		{"anthropic", "", "ANTHROPIC_API_KEY", llm.Endpoint{BaseURL: "https://api.anthropic.com", KeyEnv: "ANTHROPIC_API_KEY"}},
		{"anthropic", "https://API.anthropic.com:443/", "", llm.Endpoint{BaseURL: "https://API.anthropic.com:443/", KeyEnv: "ANTHROPIC_API_KEY"}},
		{"anthropic", "", "OPENAI_API_KEY", llm.Endpoint{}},
		{"anthropic", "http://api.anthropic.com", "", llm.Endpoint{}},
		{"anthropic", "https://api.anthropic.com.evil.example", "", llm.Endpoint{}},
		{"anthropic", "https://api.anthropic.com@evil.example", "", llm.Endpoint{}},
		{"openai", "", "", llm.Endpoint{BaseURL: "http://10.0.0.7:8000/v1", KeyEnv: "OPENAI_API_KEY"}},
		{"openai", "https://api.openai.com/v1", "", llm.Endpoint{}}, // the key belongs to the configured server
		{"openai", "https://models.example.com/openai/v1", "EXAMPLE_KEY", llm.Endpoint{BaseURL: "https://models.example.com/openai/v1", KeyEnv: "EXAMPLE_KEY"}},
		{"openai", "https://models.example.com/openai/v1", "", llm.Endpoint{}},
		{"openai", "https://models.example.com/openai/v1", "OPENAI_API_KEY", llm.Endpoint{}},
		{"openai", "", "EXAMPLE_KEY", llm.Endpoint{}},
		{"openai", "http://127.0.0.1:11434/v1", "", llm.Endpoint{BaseURL: "http://127.0.0.1:11434/v1"}},
		{"openai", "http://127.0.0.1:11434/v1", "OPENAI_API_KEY", llm.Endpoint{}},
		{"openai", "http://127.0.0.1:11435/v1", "", llm.Endpoint{}},
		{"openai", "file:///etc/passwd", "", llm.Endpoint{}},
		{"scripted", "http://127.0.0.1:11434/v1", "", llm.Endpoint{}},
	} {
		got, err := endpoints.Resolve(c.provider, c.base, c.key)
		if got != c.want {
			t.Errorf("%s %q %q: got %+v (%v), want %+v", c.provider, c.base, c.key, got, err, c.want)
		}
		refused := c.want == llm.Endpoint{}
		if refused != perdure.IsCode(err, perdure.PermissionDenied) {
			t.Errorf("%s %q %q: error %v", c.provider, c.base, c.key, err)
		}
		if early := endpoints.Check(c.provider, c.base, c.key); (early != nil) != refused {
			t.Errorf("%s %q %q: Check says %v", c.provider, c.base, c.key, early)
		}
	}
	if err := endpoints.Check("scripted", "", ""); err != nil {
		t.Errorf("a provider without endpoint: %v", err)
	}
}

func TestMalformedEndpoints(t *testing.T) {
	none := func(string) string { return "" }
	for _, base := range []string{"", "models.example.com", "ftp://x", "https://", "https://u:p@x", "https://x?k=v", "https://x#f", "https://x?"} {
		if _, err := llm.NewEndpoints(none, llm.Endpoint{BaseURL: base}); !perdure.IsCode(err, perdure.InvalidArgument) {
			t.Errorf("%q: got %v, want invalid_argument", base, err)
		}
		if _, err := llm.ParseEndpoint(base); !perdure.IsCode(err, perdure.InvalidArgument) {
			t.Errorf("ParseEndpoint(%q): got %v, want invalid_argument", base, err)
		}
	}
	// Errors are shown to people, so they must not contain the password or key in an invalid URL.
	for _, base := range []string{"https://me:hunter22@x", "ftp://me:hunter22@x", "https://me:hun ter22@x", "https://me:hunter22@x:port/", "me:hunter22@x", "https://x/?key=hunter22", "https://x\x7f/hunter22"} {
		_, err := llm.NewEndpoints(none, llm.Endpoint{BaseURL: base})
		_, parseErr := llm.ParseEndpoint(base)
		allowed, openErr := llm.NewEndpoints(none)
		if openErr != nil {
			t.Fatal(openErr)
		}
		_, resolveErr := allowed.Resolve("openai", base, "OPENAI_API_KEY")
		for _, err := range []error{err, parseErr, resolveErr} {
			if err == nil || strings.Contains(err.Error(), "hunter") || strings.Contains(err.Error(), "ter22") {
				t.Errorf("%q: the error is %v", base, err)
			}
		}
	}
	pair, err := llm.ParseEndpoint("https://x.example/v1=X_KEY")
	if err != nil || pair != (llm.Endpoint{BaseURL: "https://x.example/v1", KeyEnv: "X_KEY"}) {
		t.Errorf("got %+v, %v", pair, err)
	}
}

// TestGeminiKeyVariables checks that Gemini's key comes from GEMINI_API_KEY, or from
// GOOGLE_API_KEY if only that is set.
func TestGeminiKeyVariables(t *testing.T) {
	for _, c := range []struct {
		env  map[string]string
		want string
	}{
		{map[string]string{}, "GEMINI_API_KEY"},
		{map[string]string{"GEMINI_API_KEY": "a", "GOOGLE_API_KEY": "b"}, "GEMINI_API_KEY"},
		{map[string]string{"GOOGLE_API_KEY": "b"}, "GOOGLE_API_KEY"},
	} {
		e, err := llm.NewEndpoints(func(name string) string { return c.env[name] })
		if err != nil {
			t.Fatal(err)
		}
		got, err := e.Resolve("gemini", "", "")
		if err != nil || got.KeyEnv != c.want {
			t.Errorf("%v: got %+v, %v", c.env, got, err)
		}
	}
}
