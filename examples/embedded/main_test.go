package main

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/google/uuid"
	"github.com/perdure/perdure/client"
)

func TestTheProgramGreets(t *testing.T) {
	err := serve(t.Context(), t.TempDir(), func(ctx context.Context, c *client.Client) error {
		text, err := greeting(ctx, c, "ann", "bob")
		if text != `"Hello ANN and BOB! (\"go ahead\")"` {
			t.Errorf("it says %s", text)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestAnExecutionContinuesInTheNextStart checks that an execution continues when the program is started
// again on the same data directory.
func TestAnExecutionContinuesInTheNextStart(t *testing.T) {
	data := t.TempDir()
	var id uuid.UUID
	err := serve(t.Context(), data, func(ctx context.Context, c *client.Client) error {
		x, err := c.Start(ctx, client.StartRequest{Kind: "greeter", Input: json.RawMessage(`["ann"]`)})
		if err == nil {
			id = x.ID
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	err = serve(t.Context(), data, func(ctx context.Context, c *client.Client) error {
		if _, err := c.Signal(ctx, id, client.SignalRequest{Name: "approve", Value: json.RawMessage(`1`)}); err != nil {
			return err
		}
		for _, err := range c.Follow(ctx, id, "") {
			if err != nil {
				return err
			}
		}
		x, err := c.Get(ctx, id)
		if err == nil && string(x.Output) != `"Hello ANN! (1)"` {
			t.Errorf("the output is %s", x.Output)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
