package adapter

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net/http"

	"github.com/perdure/perdure/llm"
)

// Body implements llm.Bodied. It makes the call with a transport that only records the request.
func (p *Provider) Body(ctx context.Context, req llm.Request) ([]byte, error) {
	endpoint, err := p.config.Endpoints.Resolve(p.api.Name, "", "")
	if err != nil {
		return nil, err
	}
	var kept keeper
	config := p.config
	config.Client = &http.Client{Transport: &kept}
	_, err = p.api.Call(ctx, &Call{
		Request: req, API: &p.api, Config: config, To: llm.Connection{BaseURL: cmp.Or(req.BaseURL, endpoint.BaseURL)},
		Emit: func(llm.Delta) error { return nil },
	})
	if kept.body == nil {
		return nil, err
	}
	return kept.body, nil
}

// keeper is a transport that records the body of the first request.
type keeper struct{ body []byte }

var errNotSent = errors.New("the request is not sent")

// RoundTrip implements [http.RoundTripper].
func (k *keeper) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Body == nil {
		return nil, errNotSent
	}
	body, err := io.ReadAll(req.Body)
	if err := errors.Join(err, req.Body.Close()); err != nil {
		return nil, err
	}
	if k.body == nil {
		k.body = body
	}
	return nil, errNotSent
}
