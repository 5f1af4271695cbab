package client

import (
	"context"
	"iter"
	"net/url"

	"github.com/perdure/perdure"
)

// Kinds returns the kinds that workers of the org have registered. KindAgent selects kinds of
// agents, KindTask selects kinds of tasks, and "" selects both.
func (c *Client) Kinds(ctx context.Context, of perdure.KindType) iter.Seq2[perdure.KindInfo, error] {
	return catalog[perdure.KindInfo](ctx, c, "kinds", func(q url.Values) {
		if of != "" {
			q.Set("type", string(of))
		}
	})
}

// Providers returns the model providers that are built into the server's program or that workers of the
// org have registered.
func (c *Client) Providers(ctx context.Context) iter.Seq2[perdure.ProviderInfo, error] {
	return catalog[perdure.ProviderInfo](ctx, c, "providers", nil)
}

// Tools returns the tools that are built into the server's program.
func (c *Client) Tools(ctx context.Context) iter.Seq2[perdure.ToolInfo, error] {
	return catalog[perdure.ToolInfo](ctx, c, "tools", nil)
}

func catalog[T any](ctx context.Context, c *Client, path string, narrow func(url.Values)) iter.Seq2[T, error] {
	return pages(func(o PageOptions) (Page[T], error) {
		q := o.query()
		if narrow != nil {
			narrow(q)
		}
		return page[T](ctx, c, q, path)
	})
}
