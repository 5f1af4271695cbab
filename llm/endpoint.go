package llm

import (
	"cmp"
	"net/url"
	"os"
	"strings"

	"github.com/perdure/perdure"
)

// Endpoint is where model calls go, and the name of the environment variable
// that holds the key they carry. An empty KeyEnv is a server that wants no key.
type Endpoint struct{ BaseURL, KeyEnv string }

type providerDefaults struct{ baseURL, baseEnv, keyEnv string }

// otherKeys are further variables in which a provider's key may be.
var otherKeys = map[string]string{"gemini": "GOOGLE_API_KEY"}

// Base URLs are as the official SDKs take them: OpenAI's ends in /v1, the others
// do not name a version.
var defaultsOf = map[string]providerDefaults{
	"anthropic":        {"https://api.anthropic.com", "ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY"},
	"openai":           {"https://api.openai.com/v1", "OPENAI_BASE_URL", "OPENAI_API_KEY"},
	"openai-responses": {"https://api.openai.com/v1", "OPENAI_BASE_URL", "OPENAI_API_KEY"},
	"gemini":           {"https://generativelanguage.googleapis.com", "GOOGLE_GEMINI_BASE_URL", "GEMINI_API_KEY"},
}

// Endpoints are the pairs of endpoint and key variable that the operator of
// this process allows: each provider's default, and those configured. A
// definition comes from elsewhere, and what it names is taken only where the
// very pair is allowed; otherwise it could send any secret anywhere.
type Endpoints struct {
	getenv   func(string) string
	defaults map[string]Endpoint
	allowed  map[Endpoint]bool // BaseURL holds the origin only
	hosts    []string
}

// NewEndpoints reads the defaults with getenv (nil: os.Getenv) and allows the
// given pairs too. A pair stands for its whole origin (scheme, host and port).
// The error is invalid_argument and names a malformed URL.
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

// ParseEndpoint reads a pair as the operator writes it: BASE_URL=KEY_VARIABLE,
// or BASE_URL alone for a server that wants no key.
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

// Hosts are the hosts that the operator configured by name; they may be at
// private addresses.
func (e *Endpoints) Hosts() []string { return e.hosts }

// Allowed returns the pairs that are allowed, for a worker to tell the server; of
// each provider's default it says whose it is. They come in no order, without keys.
func (e *Endpoints) Allowed() (all []perdure.ModelEndpoint) {
	defaults := map[Endpoint]bool{}
	for provider, d := range e.defaults {
		origin, err := perdure.OriginOf("baseUrl", d.BaseURL)
		if err != nil {
			continue // NewEndpoints has refused it
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

// Check tells early whether a model's endpoint would be accepted: nil, or
// permission_denied.
func (e *Endpoints) Check(provider, baseURL, apiKeyEnv string) error {
	if baseURL == "" && apiKeyEnv == "" {
		return nil
	}
	_, err := e.Resolve(provider, baseURL, apiKeyEnv)
	return err
}

// Resolve returns the endpoint of a call. What is left empty is the provider's
// default; a base URL alone may also be that of a server without key. The error
// is permission_denied.
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

// Key reads the key of an endpoint, "" for one that wants none. A key that is
// not set is an *Error that names the variable.
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
