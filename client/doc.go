// Package client speaks the public API of a Perdure server: JSON over HTTP, and
// the event log as server-sent events.
//
//	c, err := client.New(client.Options{BaseURL: "http://127.0.0.1:8080", Key: key})
//	x, err := c.Start(ctx, client.StartRequest{UserPrompt: "...", OneShot: true, Models: models})
//	for event, err := range c.Follow(ctx, x.ID, "") { ... }
//
// Every error that the server answers with is a *perdure.Error with the code
// and the fields at fault that it named. A server that cannot be reached is
// unavailable. The client repeats a call only where the server has not acted on it:
// a request that came too soon for its key (rate_limited with a pause of up to 2 s,
// five times at most), and a start before any worker has registered (10 s at most).
// The caller decides about other calls. Follow resumes by itself.
package client
