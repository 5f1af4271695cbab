package client

import (
	"context"
	"iter"
	"net/http"

	"github.com/perdure/perdure"
)

// CreateOrg creates an org. CreateOrg requires an operator, who has the token of the server's data
// directory. Errors: invalid_argument, already_exists, permission_denied.
func (c *Client) CreateOrg(ctx context.Context, id string) (*perdure.Org, error) {
	return c.callOrg(ctx, request{method: http.MethodPost, body: map[string]string{"id": id}})
}

// Orgs returns all orgs, ordered by id, including disabled ones. It requires an operator. Errors:
// permission_denied.
func (c *Client) Orgs(ctx context.Context) iter.Seq2[*perdure.Org, error] {
	return pages(func(o PageOptions) (Page[*perdure.Org], error) {
		var p Page[*perdure.Org]
		err := c.call(ctx, request{method: http.MethodGet, orgs: true, query: o.query()}, &p)
		return p, err
	})
}

// Org returns an org. It requires an operator. Errors: not_found, permission_denied.
func (c *Client) Org(ctx context.Context, id string) (*perdure.Org, error) {
	return c.callOrg(ctx, request{method: http.MethodGet, path: []string{id}})
}

// DisableOrg disables an org. Within 5 s, the server refuses the API keys of the org, ends the
// org's streams, and gives its work to no worker. Its data is kept. DisableOrg requires an
// operator. Errors: not_found, permission_denied.
func (c *Client) DisableOrg(ctx context.Context, id string) (*perdure.Org, error) {
	return c.callOrg(ctx, request{method: http.MethodPost, path: []string{id, "disable"}})
}

// EnableOrg enables a disabled org. Its API keys work again. EnableOrg requires an operator.
// Errors: not_found, permission_denied.
func (c *Client) EnableOrg(ctx context.Context, id string) (*perdure.Org, error) {
	return c.callOrg(ctx, request{method: http.MethodPost, path: []string{id, "enable"}})
}

func (c *Client) callOrg(ctx context.Context, r request) (*perdure.Org, error) {
	var org perdure.Org
	r.orgs = true
	if err := c.call(ctx, r, &org); err != nil {
		return nil, err
	}
	return &org, nil
}
