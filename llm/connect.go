package llm

import "net/http"

// Config configures a provider.
type Config struct {
	// Endpoints contains the allowed endpoints, from which each call gets its URL and key. The
	// field is required.
	Endpoints *Endpoints
	// Client is the HTTP client for calls. The default is a client of NewClient that may connect to
	// the hosts in Endpoints.
	Client *http.Client
	// Prices are used to compute costs. The default is DefaultPrices.
	Prices Prices
}

// Normal returns the configuration. If Client is nil, the result has the default client.
func (c Config) Normal() Config {
	if c.Client == nil {
		c.Client = NewClient(TransportConfig{AllowHosts: c.Endpoints.Hosts()})
	}
	return c
}

// Connection holds the base URL of a call and the API key; Key is "" if the server needs no key.
type Connection struct{ BaseURL, Key string }

// Connect returns the base URL and the key for a call. Errors: permission_denied if the operator
// does not allow the endpoint; an *Error with the name of the environment variable if this variable
// is not set.
func (c Config) Connect(provider string, req Request) (Connection, error) {
	endpoint, err := c.Endpoints.Resolve(provider, req.BaseURL, req.APIKeyEnv)
	if err != nil {
		return Connection{}, err
	}
	key, err := c.Endpoints.Key(provider, endpoint)
	return Connection{endpoint.BaseURL, key}, err
}

// Checked is for the middleware of an SDK. It sends req with the function `send` and returns the
// response, whose body is read through MarkHalves. For a response with an error status, it returns
// an *Error.
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
