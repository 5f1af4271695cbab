package llm

import "context"

// Bodied is a provider that can show the body of a request without sending it.
type Bodied interface {
	// Body returns the body of the first request that Stream sends for req, byte by byte. It needs no
	// key. Where Stream would ask Endpoints for the address, Body takes that of req, allowed or not.
	// Errors: those of Stream for a request that it cannot send.
	Body(ctx context.Context, req Request) ([]byte, error)
}
