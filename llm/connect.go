package llm

import "net/http"

// Config is what the provider of a service is made from.
type Config struct {
	// Endpoints resolves where calls go and with which key; required.
	Endpoints *Endpoints
	// Client makes the calls; nil: NewClient that allows Endpoints.Hosts.
	Client *http.Client
	// Prices fill the cost; nil: DefaultPrices.
	Prices Prices
}

// Normal fills in the defaults. It reads no environment: a key that Endpoints
// does not name is never sent.
func (c Config) Normal() Config {
	if c.Client == nil {
		c.Client = NewClient(TransportConfig{AllowHosts: c.Endpoints.Hosts()})
	}
	return c
}

// Connection is where one call goes, and the key that it carries; "" is none.
type Connection struct{ BaseURL, Key string }

// Connect finds where a provider's call goes. The error is permission_denied
// where the operator does not allow it, and an *Error that names the variable
// where the key is missing.
func (c Config) Connect(provider string, req Request) (Connection, error) {
	endpoint, err := c.Endpoints.Resolve(provider, req.BaseURL, req.APIKeyEnv)
	if err != nil {
		return Connection{}, err
	}
	key, err := c.Endpoints.Key(provider, endpoint)
	return Connection{endpoint.BaseURL, key}, err
}

// Checked creates a request and returns an answer that is no success as an *Error. The
// body of a success is read through MarkHalves.
// It is what the middlewares of the SDKs do.
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
