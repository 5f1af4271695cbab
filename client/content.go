package client

import (
	"context"
	"encoding/json"
	"io"
	"net/http"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// Content reads a content of the execution with the id `id`. `sum` is the hash of the content in
// hexadecimal. Responses contain this hash in the members whose names end in Sha256. The caller closes
// the result. Errors: not_found, unavailable (the worker that has the content is not connected).
func (c *Client) Content(ctx context.Context, id uuid.UUID, sum string) (io.ReadCloser, error) {
	resp, err := c.send(ctx, request{method: http.MethodGet, path: []string{executions, id.String(), "content", sum}})
	if err != nil {
		return nil, err
	}
	return resp.Body, nil
}

// Fetch loads a large content that the server left out of a response. `place`, `bytes` and `sum` are
// three fields that belong to one content, such as &x.Output, x.OutputBytes and x.OutputSHA256. If the
// content was not left out, or only a worker has it, Fetch does nothing. Errors: those of Content.
func (c *Client) Fetch(ctx context.Context, id uuid.UUID, place *json.RawMessage, bytes int64, sum string) error {
	if !leftOut(*place, bytes) {
		return nil
	}
	content, err := c.Content(ctx, id, sum)
	if err != nil {
		return err
	}
	defer drain(content)
	whole := make([]byte, bytes)
	if _, err := io.ReadFull(content, whole); err != nil {
		return &perdure.Error{Code: perdure.Unavailable, Message: "the server's answer broke off", Err: err}
	}
	*place = whole
	return nil
}

// leftOut reports whether the server left a content out of a response. `bytes` is the size of the
// content.
func leftOut(content json.RawMessage, bytes int64) bool {
	return bytes > 0 && (len(content) == 0 || string(content) == "null")
}
