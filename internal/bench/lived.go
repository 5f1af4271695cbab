package bench

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/agent"
)

// livedKind is an agent whose run is to be found in a store that has lived.
const livedKind = "bench-lived"

// livedInput asks for so many entries, and then so many steps without a checkpoint.
// The agent then waits for a signal, if it has to Wait; entered again it goes through
// what is there and tells when.
type livedInput struct {
	Entries int    `json:"entries"`
	Steps   int    `json:"steps"`
	Size    int    `json:"size"`   // bytes of each
	Wait    string `json:"wait"`   // name of the signal; "" does not wait
	Prompt  string `json:"prompt"` // to be found by
}

// livedAtOnce is how many entries go into one commit.
const livedAtOnce = 250

func (r *recorder) lived(ctx agent.Context, in livedInput) (string, error) {
	var g grown
	if _, err := ctx.State(&g); err != nil {
		return "", err
	}
	for g.Entries < in.Entries {
		for range min(livedAtOnce, in.Entries-g.Entries) {
			if _, err := ctx.Append(perdure.UserText(body(in.Size))); err != nil {
				return "", err
			}
			g.Entries++
		}
		if err := ctx.Checkpoint(g); err != nil {
			return "", err
		}
	}
	for i := range in.Steps {
		text := func(context.Context) (string, error) { return body(in.Size), nil }
		if _, err := agent.Step(ctx, "step", text, agent.StepInstance(strconv.Itoa(i))); err != nil {
			return "", err
		}
	}
	if in.Wait == "" {
		return "done", nil
	}
	r.now("again " + in.Wait)
	began, n := time.Now(), 0
	for _, err := range ctx.Messages() {
		if err != nil {
			return "", err
		}
		n++
	}
	r.since("messages "+in.Wait, began)
	if n < in.Entries {
		return "", errors.New("messages are missing")
	}
	_, err := ctx.WaitSignal(in.Wait, 0)
	return "done", err
}
