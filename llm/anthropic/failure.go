package anthropic

import (
	"context"
	"errors"
	"net/http"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"

	"github.com/perdure/perdure/llm"
)

// checkStatus is an SDK middleware.
func checkStatus(req *http.Request, next option.MiddlewareNext) (*http.Response, error) {
	return llm.Checked(Name, req, next)
}

// failure converts an error of a stream to an *llm.Error.
func failure(ctx context.Context, err error) error {
	var event *anthropic.Error
	if ctx.Err() == nil && errors.As(err, &event) {
		return llm.EventError(Name, []byte(event.RawJSON()))
	}
	return llm.TransportError(ctx, Name, err)
}
