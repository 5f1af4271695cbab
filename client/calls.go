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

// ModelCall is a call of a model with its request, as the server rebuilds it.
type ModelCall struct {
	perdure.ModelCall
	// SystemPromptBytes and AnswerBytes are the sizes of a system prompt and of the parts of an answer
	// that are left out because they have more than 256 KiB.
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
	// Bytes is the size of the content. Parts is nil if it has more than 256 KiB.
	Bytes int             `json:"bytes"`
	Parts json.RawMessage `json:"parts"`
}

// callPage is a model call with a page of its messages.
type callPage struct {
	ModelCall
	NextCursor *string `json:"nextCursor"`
}

// ModelCall returns a model call of an execution, with all messages. call is the id of the task that
// makes the call. Errors: not_found, conflict (a LOCAL execution), payload_too_large, unsupported.
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

// ModelCallRequest returns the body of the request of a model call as the code that calls a provider
// builds it, without the key. An empty provider means that of the call. The caller closes it. Errors:
// those of ModelCall, invalid_argument (the provider cannot send such a request).
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
