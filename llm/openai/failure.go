package openai

import (
	"context"
	"errors"
	"net/http"

	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/packages/ssestream"

	"github.com/perdure/perdure/llm"
)

// checkStatus is an SDK middleware.
func checkStatus(req *http.Request, next option.MiddlewareNext) (*http.Response, error) {
	return llm.Checked(Name, req, next)
}

// failure converts an error of a stream to an *llm.Error.
func failure(ctx context.Context, err error) error {
	var event *ssestream.StreamError
	if ctx.Err() == nil && errors.As(err, &event) {
		return llm.EventError(Name, event.Event.Data)
	}
	return llm.TransportError(ctx, Name, err)
}
