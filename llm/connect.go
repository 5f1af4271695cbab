package llm

import "net/http"

// Config configures a provider.
type Config struct {
	// Endpoints resolves the endpoint and the key of each call. It is required.
	Endpoints *Endpoints
	// Client is the HTTP client for calls. The default is the result of NewClient with Endpoints.Hosts
	// as allowed hosts.
	Client *http.Client
	// Prices are used to compute costs. The default is DefaultPrices.
	Prices Prices
}

// Normal returns the configuration with the default Client if Client is nil. It reads no environment
// variables, so calls use only keys that Endpoints names.
func (c Config) Normal() Config {
	if c.Client == nil {
		c.Client = NewClient(TransportConfig{AllowHosts: c.Endpoints.Hosts()})
	}
	return c
}

// Connection holds the base URL of a call and the API key; Key is "" if the server needs no key.
type Connection struct{ BaseURL, Key string }

// Connect returns the base URL and the key for a call. Errors: permission_denied if the operator does
// not allow the endpoint; an *Error that names the environment variable if it holds no key.
func (c Config) Connect(provider string, req Request) (Connection, error) {
	endpoint, err := c.Endpoints.Resolve(provider, req.BaseURL, req.APIKeyEnv)
	if err != nil {
		return Connection{}, err
	}
	key, err := c.Endpoints.Key(provider, endpoint)
	return Connection{endpoint.BaseURL, key}, err
}

// Checked calls the function send with req and returns the response. For a response with an error
// status it returns an *Error. It passes the body of any other response through MarkHalves. The
// middleware of an SDK can call Checked.
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
