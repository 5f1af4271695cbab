package llm

import "context"

// Bodied is a provider that can return the body of a request without sending it.
type Bodied interface {
	// Body returns the body of the first HTTP request that Stream sends for req; every byte is the
	// same. Body needs no API key, and accepts a base URL in req that Endpoints does not allow.
	// Errors: those that Stream returns for a request that cannot be sent.
	Body(ctx context.Context, req Request) ([]byte, error)
}
