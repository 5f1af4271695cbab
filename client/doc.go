// Package client speaks the public API of a Perdure server: JSON over HTTP, and
// the event log as server-sent events.
//
//	c, err := client.New(client.Options{BaseURL: "http://127.0.0.1:8080", Key: key})
//	x, err := c.Start(ctx, client.StartRequest{UserPrompt: "...", OneShot: true, Models: models})
//	for event, err := range c.Follow(ctx, x.ID, "") { ... }
//
// Every error that the server answers with is a *perdure.Error with the code
// and the fields at fault that it named. A server that cannot be reached is
// unavailable. Typed calls are not repeated by the client: what is safe to
// repeat is the caller's to say. Follow alone goes on by itself.
package client
