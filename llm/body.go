package llm

import "context"

// Bodied is a provider that can return the body of a request without sending it.
type Bodied interface {
	// Body returns exactly the bytes of the body of the first HTTP request that Stream would send
	// for req. Body needs no API key, and accepts a base URL in req that Endpoints does not allow.
	// Errors: those that Stream returns for a request that cannot be sent.
	Body(ctx context.Context, req Request) ([]byte, error)
}
