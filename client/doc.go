// Package client is a client of the public API of a Perdure server: JSON over HTTP, and the event
// log as server-sent events.
//
//	c, err := client.New(client.Options{BaseURL: "http://127.0.0.1:8080", Key: key})
//	x, err := c.Start(ctx, client.StartRequest{UserPrompt: "...", OneShot: true, Models: models})
//	for event, err := range c.Follow(ctx, x.ID, "") { ... }
//
// Every error answer of the server is a *perdure.Error with the server's code and invalid fields.
// If the server cannot be reached, the code is unavailable.
//
// The client repeats a call only if the server has not processed it. It repeats a rate-limited
// request, up to five attempts in all, if the server requires a pause of at most 2 s. It repeats a
// start for about 10 s while no worker has registered yet. Your program decides whether to repeat
// any other call. Follow resumes by itself.
package client
