package client

import (
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"strconv"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

const definitions = "agent-definitions"

// CreateDefinition stores a new definition. If d.Slug is empty, the server derives the slug from
// the name. Errors: invalid_argument, already_exists.
func (c *Client) CreateDefinition(ctx context.Context, d perdure.Definition) (*perdure.Definition, error) {
	var made perdure.Definition
	err := c.call(ctx, request{method: http.MethodPost, path: []string{definitions}, body: bodyOf(d)}, &made)
	if err != nil {
		return nil, err
	}
	return &made, nil
}

// Definition returns a definition. Errors: not_found.
func (c *Client) Definition(ctx context.Context, id uuid.UUID) (*perdure.Definition, error) {
	return get[perdure.Definition](ctx, c, nil, definitions, id.String())
}

// DefinitionsPage returns one page of the org's definitions.
func (c *Client) DefinitionsPage(ctx context.Context, o PageOptions) (Page[*perdure.Definition], error) {
	return page[*perdure.Definition](ctx, c, o.query(), definitions)
}

// Definitions returns all definitions of the org.
func (c *Client) Definitions(ctx context.Context) iter.Seq2[*perdure.Definition, error] {
	return pages(func(o PageOptions) (Page[*perdure.Definition], error) { return c.DefinitionsPage(ctx, o) })
}

// PutDefinition replaces the definition that has the id d.ID. If d.Version is set, it must equal the
// stored version. Errors: invalid_argument, not_found, already_exists (slug), conflict (version).
func (c *Client) PutDefinition(ctx context.Context, d perdure.Definition) (*perdure.Definition, error) {
	header := http.Header{}
	if d.Version > 0 {
		header.Set("If-Match", strconv.Quote(strconv.FormatInt(d.Version, 10)))
	}
	var stored perdure.Definition
	err := c.call(ctx, request{
		method: http.MethodPut, path: []string{definitions, d.ID.String()}, header: header, body: bodyOf(d),
	}, &stored)
	if err != nil {
		return nil, err
	}
	return &stored, nil
}

// DeleteDefinition deletes a definition. Executions that started from it keep their copies. Errors:
// not_found.
func (c *Client) DeleteDefinition(ctx context.Context, id uuid.UUID) error {
	return c.call(ctx, request{method: http.MethodDelete, path: []string{definitions, id.String()}}, nil)
}

// definitionBody is a definition in a request. Its own fields hide the fields of Definition with
// the same JSON names. ID, CreatedAt, UpdatedAt and Version stay nil, because the server sets them.
// Slug, Tools and Metadata are left out of the JSON if they are not set.
type definitionBody struct {
	perdure.Definition
	ID        *struct{}       `json:"id,omitempty"`
	CreatedAt *struct{}       `json:"createdAt,omitempty"`
	UpdatedAt *struct{}       `json:"updatedAt,omitempty"`
	Version   *struct{}       `json:"version,omitempty"`
	Slug      string          `json:"slug,omitempty"`
	Tools     *[]string       `json:"tools,omitempty"`
	Metadata  json.RawMessage `json:"metadata,omitempty"`
}

func bodyOf(d perdure.Definition) definitionBody {
	body := definitionBody{Definition: d, Slug: d.Slug, Metadata: d.Metadata}
	if d.Tools != nil {
		body.Tools = &d.Tools
	}
	return body
}
