package llm

import "context"

// Bodied is a provider that can show the body of a request without sending it.
type Bodied interface {
	// Body returns the body of the first request that Stream sends for req, byte by byte. It needs
	// no key. Body uses the address in req even if Endpoints does not allow it. Errors: those of
	// Stream for a request that it cannot send.
	Body(ctx context.Context, req Request) ([]byte, error)
}
