package bench

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/agent"
)

// grownRunKind is the kind of the agent that is measured in a store with many older executions.
const grownRunKind = "bench-lived"

// grownRunInput requests a number of entries, and then a number of steps without a checkpoint. If
// Wait is set, the agent then waits for a signal. An agent that is entered again reads its records
// and reports how long that took.
type grownRunInput struct {
	Entries int    `json:"entries"`
	Steps   int    `json:"steps"`
	Size    int    `json:"size"`   // bytes of each entry and of each step's result
	Wait    string `json:"wait"`   // name of the signal; "" means no wait
	Prompt  string `json:"prompt"` // a text to search for
}

// entriesPerCommit is the number of entries per commit.
const entriesPerCommit = 250

func (r *recorder) grownRun(ctx agent.Context, in grownRunInput) (string, error) {
	var g growState
	if _, err := ctx.State(&g); err != nil {
		return "", err
	}
	for g.Entries < in.Entries {
		for range min(entriesPerCommit, in.Entries-g.Entries) {
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
