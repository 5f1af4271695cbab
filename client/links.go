package client

import (
	"context"
	"iter"
	"net/http"
	"net/url"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// NewQuestionLink is a link to a question together with its address, which the server returns only
// once. Whoever has the address can answer the question with the link's API key.
type NewQuestionLink struct {
	perdure.QuestionLink
	URL string `json:"url"`
}

// CreateQuestionLink creates a link through which a person answers a question without a sign-in,
// with the given API key. The link works for the duration `life`; 0 means perdure.LinkLife. Like
// all calls for links, CreateQuestionLink requires the role admin. Errors: invalid_argument,
// not_found, question_decided, already_voted, conflict (the server process serves no pages, so
// nobody could open the link), permission_denied.
func (c *Client) CreateQuestionLink(ctx context.Context, question, key uuid.UUID, life time.Duration) (*NewQuestionLink, error) {
	body := map[string]string{"keyId": key.String()}
	if life != 0 {
		body["expires"] = life.String()
	}
	var link NewQuestionLink
	err := c.call(ctx, request{method: http.MethodPost, path: []string{questions, question.String(), "links"}, body: body}, &link)
	return orNil(&link, err)
}

// QuestionLinks returns the links to a question, newest first, without their addresses. Errors:
// not_found, permission_denied.
func (c *Client) QuestionLinks(ctx context.Context, question uuid.UUID) iter.Seq2[*perdure.QuestionLink, error] {
	return pages(func(o PageOptions) (Page[*perdure.QuestionLink], error) {
		return page[*perdure.QuestionLink](ctx, c, url.Values{}, questions, question.String(), "links")
	})
}

// RevokeQuestionLinks revokes the links of an API key to a question, or all links to the question
// if `key` is nil. After this call, none of these links works. Errors: not_found,
// permission_denied.
func (c *Client) RevokeQuestionLinks(ctx context.Context, question uuid.UUID, key *uuid.UUID) error {
	r := request{method: http.MethodDelete, path: []string{questions, question.String(), "links"}}
	if key != nil {
		r.query = url.Values{"keyId": {key.String()}}
	}
	return c.call(ctx, r, nil)
}
