package llm

import "context"

// Bodied is a provider that can return the body of a request without sending it.
type Bodied interface {
	// Body returns the body of the first HTTP request that Stream sends for req, byte by byte. It needs
	// no key. Body accepts the address in req even if Endpoints does not allow it. Errors: those that
	// Stream returns for a request that cannot be sent.
	Body(ctx context.Context, req Request) ([]byte, error)
}
