package llm

import (
	"cmp"
	"net/url"
	"os"
	"strings"

	"github.com/perdure/perdure"
)

// Endpoint is the base URL for model calls, and the name of the environment variable that holds the API
// key. KeyEnv is empty for a server that needs no key.
type Endpoint struct{ BaseURL, KeyEnv string }

// providerDefaults are the default endpoint of a provider, the environment variables that change it,
// and the provider's default model.
type providerDefaults struct{ baseURL, baseEnv, keyEnv, model string }

// otherKeys are the alternative environment variables for a provider's API key, by provider.
var otherKeys = map[string]string{"gemini": "GOOGLE_API_KEY"}

// defaultsOf are the defaults by provider. The base URLs have the form that the official SDKs
// expect: that of OpenAI ends in /v1, and the other URLs have no version.
var defaultsOf = map[string]providerDefaults{
	"anthropic":        {"https://api.anthropic.com", "ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY", "claude-sonnet-5-5"},
	"openai":           {"https://api.openai.com/v1", "OPENAI_BASE_URL", "OPENAI_API_KEY", "gpt-5.4"},
	"openai-responses": {"https://api.openai.com/v1", "OPENAI_BASE_URL", "OPENAI_API_KEY", "gpt-5.4"},
	"gemini":           {"https://generativelanguage.googleapis.com", "GOOGLE_GEMINI_BASE_URL", "GEMINI_API_KEY", "gemini-3-flash-preview"},
}

// Endpoints are the endpoints that the operator of this process allows: each provider's default,
// and configured ones. A definition names a base URL and the environment variable with the key. The
// author of the definition may not be the operator, so a call uses this URL and this key only if
// the operator allows the combination. Otherwise a definition could send any secret of the process
// to any server.
type Endpoints struct {
	getenv   func(string) string
	defaults map[string]Endpoint
	allowed  map[Endpoint]bool // here, BaseURL holds only the origin
	hosts    []string
}

// NewEndpoints creates Endpoints with the providers' defaults and the given endpoints. The
// environment variables that change the defaults are read with getenv (nil means os.Getenv). An
// allowed endpoint allows its whole origin (scheme, host and port). Errors: invalid_argument if a
// URL is malformed.
func NewEndpoints(getenv func(string) string, allowed ...Endpoint) (*Endpoints, error) {
	if getenv == nil {
		getenv = os.Getenv
	}
	e := &Endpoints{getenv: getenv, defaults: map[string]Endpoint{}, allowed: map[Endpoint]bool{}}
	for provider, d := range defaultsOf {
		endpoint := Endpoint{BaseURL: d.baseURL, KeyEnv: d.keyEnv}
		if other := otherKeys[provider]; other != "" && getenv(d.keyEnv) == "" && getenv(other) != "" {
			endpoint.KeyEnv = other
		}
		if base := getenv(d.baseEnv); base != "" {
			endpoint.BaseURL = base
			allowed = append(allowed, endpoint)
		}
		e.defaults[provider] = endpoint
		if err := e.allow(endpoint); err != nil {
			return nil, err
		}
	}
	for _, pair := range allowed {
		if err := e.allow(pair); err != nil {
			return nil, err
		}
		u, _ := url.Parse(pair.BaseURL)
		e.hosts = append(e.hosts, strings.ToLower(u.Hostname()))
	}
	return e, nil
}

// ParseEndpoint parses an endpoint in the form of the operator's configuration: BASE_URL=KEY_VARIABLE,
// or BASE_URL for a server that needs no key.
func ParseEndpoint(s string) (Endpoint, error) {
	base, key := s, ""
	if i := strings.LastIndex(s, "="); i >= 0 {
		base, key = s[:i], s[i+1:]
	}
	pair := Endpoint{BaseURL: strings.TrimSpace(base), KeyEnv: strings.TrimSpace(key)}
	_, err := perdure.OriginOf("baseUrl", pair.BaseURL)
	return pair, err
}

func (e *Endpoints) allow(pair Endpoint) error {
	origin, err := perdure.OriginOf("baseUrl", pair.BaseURL)
	if err != nil {
		return err
	}
	e.allowed[Endpoint{BaseURL: origin, KeyEnv: pair.KeyEnv}] = true
	return nil
}

// Hosts returns the hosts in the endpoints that the operator configured. A client may connect to
// these hosts even if their addresses are private.
func (e *Endpoints) Hosts() []string { return e.hosts }

// Allowed returns the allowed endpoints, without keys, in no particular order. A worker reports
// them to the server. A provider's default endpoint contains the provider's name.
func (e *Endpoints) Allowed() (all []perdure.ModelEndpoint) {
	defaults := map[Endpoint]bool{}
	for provider, d := range e.defaults {
		origin, err := perdure.OriginOf("baseUrl", d.BaseURL)
		if err != nil {
			continue // NewEndpoints refuses such a URL
		}
		defaults[Endpoint{BaseURL: origin, KeyEnv: d.KeyEnv}] = true
		all = append(all, perdure.ModelEndpoint{Origin: origin, APIKeyEnv: d.KeyEnv, Provider: provider})
	}
	for pair := range e.allowed {
		if !defaults[pair] {
			all = append(all, perdure.ModelEndpoint{Origin: pair.BaseURL, APIKeyEnv: pair.KeyEnv})
		}
	}
	return all
}

func compareEndpoints(a, b perdure.ModelEndpoint) int {
	return cmp.Or(strings.Compare(a.Origin, b.Origin), strings.Compare(a.APIKeyEnv, b.APIKeyEnv), strings.Compare(a.Provider, b.Provider))
}

// Check returns an error if the operator does not allow the endpoint of a model, so that callers
// can refuse the model before they call it. Errors: permission_denied.
func (e *Endpoints) Check(provider, baseURL, apiKeyEnv string) error {
	if baseURL == "" && apiKeyEnv == "" {
		return nil
	}
	_, err := e.Resolve(provider, baseURL, apiKeyEnv)
	return err
}

// Resolve returns the endpoint for a call. An empty baseURL or apiKeyEnv means the provider's
// default. Exception: if the operator allows baseURL as a server that needs no key, an empty
// apiKeyEnv means no key. Errors: permission_denied.
func (e *Endpoints) Resolve(provider, baseURL, apiKeyEnv string) (Endpoint, error) {
	def, known := e.defaults[provider]
	if !known {
		return Endpoint{}, perdure.Errorf(perdure.PermissionDenied, "provider %q takes no endpoint", provider)
	}
	want := Endpoint{BaseURL: baseURL, KeyEnv: apiKeyEnv}
	if want.BaseURL == "" {
		want.BaseURL = def.BaseURL
	}
	origin, err := perdure.OriginOf("baseUrl", want.BaseURL)
	if err != nil {
		return Endpoint{}, perdure.Errorf(perdure.PermissionDenied, "the endpoint is not allowed: %v", err)
	}
	if apiKeyEnv == "" {
		if baseURL != "" && e.allowed[Endpoint{BaseURL: origin}] {
			return want, nil
		}
		want.KeyEnv = def.KeyEnv
	}
	if !e.allowed[Endpoint{BaseURL: origin, KeyEnv: want.KeyEnv}] {
		return Endpoint{}, perdure.Errorf(perdure.PermissionDenied,
			"the pair of endpoint %s and key variable %s is not allowed here; the worker's operator can allow it", origin, want.KeyEnv)
	}
	return want, nil
}

// Key returns the API key of an endpoint, or "" if the endpoint needs none. Errors: an *Error with
// the name of the environment variable if this variable is not set.
func (e *Endpoints) Key(provider string, endpoint Endpoint) (string, error) {
	if endpoint.KeyEnv == "" {
		return "", nil
	}
	if key := strings.TrimSpace(e.getenv(endpoint.KeyEnv)); key != "" {
		return key, nil
	}
	return "", &Error{
		Kind: Auth, Provider: provider,
		Message: "no API key: set " + endpoint.KeyEnv + " in the worker's environment",
	}
}
