package engine

import "context"

// Sweep does once what Run does again and again, and trusts the age of every
// lease. It is for a program that decides itself when time has passed.
func (e *Engine) Sweep(ctx context.Context) error { return e.round(ctx, e.Store.Now(), true) }
