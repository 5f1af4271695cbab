package client

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// ModelCall is a model call together with its request, which the server rebuilds from stored data.
type ModelCall struct {
	perdure.ModelCall
	// SystemPromptBytes is the size of the system prompt, and AnswerBytes the size of the answer's
	// parts. Each size is set only if the server left the prompt or the answer out of the response,
	// because it has more than 256 KiB.
	SystemPromptBytes int `json:"systemPromptBytes,omitempty"`
	AnswerBytes       int `json:"answerBytes,omitempty"`
	// LeftOut are the parts of the conversation that the model does not see, oldest first.
	LeftOut []perdure.LeftOut `json:"leftOut"`
	// Messages are the messages as the model sees them, without the system prompt.
	Messages []CallMessage `json:"messages"`
}

// CallMessage is a message as a model sees it.
type CallMessage struct {
	Role perdure.Role `json:"role"`
	// Bytes is the size of the message's content. If the size is more than 256 KiB, Parts is nil.
	Bytes int             `json:"bytes"`
	Parts json.RawMessage `json:"parts"`
}

// callPage is a model call with one page of its messages.
type callPage struct {
	ModelCall
	NextCursor *string `json:"nextCursor"`
}

// ModelCall returns a model call of the execution with the id `id`, with all messages. `call` is the id
// of the task that makes the call. Errors: not_found, conflict (a LOCAL execution), payload_too_large,
// unsupported.
func (c *Client) ModelCall(ctx context.Context, id, call uuid.UUID) (*ModelCall, error) {
	var whole *ModelCall
	for o := (PageOptions{Limit: 1000}); ; {
		page, err := get[callPage](ctx, c, o.query(), executions, id.String(), "calls", call.String())
		if err != nil {
			return nil, err
		}
		if whole == nil {
			whole = &page.ModelCall
		} else {
			whole.Messages = append(whole.Messages, page.Messages...)
		}
		if page.NextCursor == nil {
			return whole, nil
		}
		o.Cursor = *page.NextCursor
	}
}

// ModelCallRequest returns the body of the HTTP request of a model call, without the API key. The
// server builds the body with the same code that calls the provider. If `provider` is empty, the
// body is for the provider of the call. The caller closes the returned reader. Errors: those of
// ModelCall, invalid_argument (the provider cannot send such a request).
func (c *Client) ModelCallRequest(ctx context.Context, id, call uuid.UUID, provider string) (io.ReadCloser, error) {
	q := url.Values{}
	if provider != "" {
		q.Set("as", provider)
	}
	resp, err := c.send(ctx, request{method: http.MethodGet, path: []string{executions, id.String(), "calls", call.String(), "request"}, query: q})
	if err != nil {
		return nil, err
	}
	return resp.Body, nil
}
