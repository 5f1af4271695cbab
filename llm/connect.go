package llm

import "net/http"

// Config configures a provider.
type Config struct {
	// Endpoints resolves the endpoint and the key of each call; required.
	Endpoints *Endpoints
	// Client is the HTTP client for calls. Default: NewClient with Endpoints.Hosts allowed.
	Client *http.Client
	// Prices are used for the cost. Default: DefaultPrices.
	Prices Prices
}

// Normal returns the configuration with the default Client filled in. It reads no environment
// variables, so calls use only keys that Endpoints names.
func (c Config) Normal() Config {
	if c.Client == nil {
		c.Client = NewClient(TransportConfig{AllowHosts: c.Endpoints.Hosts()})
	}
	return c
}

// Connection is the base URL of a call and its key; "" means no key.
type Connection struct{ BaseURL, Key string }

// Connect returns the base URL and the key for a call. Errors: permission_denied if the operator
// does not allow the endpoint; an *Error that names the environment variable if the key is
// missing.
func (c Config) Connect(provider string, req Request) (Connection, error) {
	endpoint, err := c.Endpoints.Resolve(provider, req.BaseURL, req.APIKeyEnv)
	if err != nil {
		return Connection{}, err
	}
	key, err := c.Endpoints.Key(provider, endpoint)
	return Connection{endpoint.BaseURL, key}, err
}

// Checked sends a request with send and returns the response. A response with an error status
// becomes an *Error. The body of any other response is wrapped by MarkHalves. An SDK's middleware
// can call Checked.
func Checked(provider string, req *http.Request, send func(*http.Request) (*http.Response, error)) (*http.Response, error) {
	resp, err := send(req)
	if err != nil {
		return nil, err
	}
	if err := CheckStatus(provider, resp); err != nil {
		return nil, err
	}
	resp.Body = MarkHalves(resp.Body)
	return resp, nil
}
