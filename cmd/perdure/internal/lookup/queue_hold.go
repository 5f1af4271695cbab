package lookup

import (
	"context"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/cmd/perdure/internal/setup"
	"github.com/perdure/perdure/cmd/perdure/internal/terminal"
)

// holdWithin is the timeout for reading the state of the queues from the server.
const holdWithin = 5 * time.Second

// hold is the reason why no worker claims a PENDING run. It is zero if there is no such reason.
type hold struct {
	word   string // shown beside the status of the run
	reason string // a sentence with the reason
	remedy string // what removes the reason
}

// text returns the reason and the remedy; "" for no hold.
func (h hold) text() string {
	if h.reason == "" {
		return ""
	}
	return h.reason + "; " + h.remedy
}

// queueHold returns why no worker claims a PENDING run: its queue is paused, or no worker serves
// the queue. It returns no hold in other cases, or if the server does not answer.
func queueHold(ctx context.Context, a *setup.App, c *client.Client, x *perdure.Execution) hold {
	return queueHolds(ctx, a, c, []*perdure.Execution{x}).of(x)
}

// holds contains the queues of a server. Its method `of` returns the hold of a run.
type holds struct {
	flags  string
	known  bool // the server has returned its queues
	queues map[string]*perdure.QueueInfo
}

// queueHolds reads the queues if one of the runs is PENDING.
func queueHolds(ctx context.Context, a *setup.App, c *client.Client, runs []*perdure.Execution) holds {
	h := holds{flags: a.ServerFlags, queues: map[string]*perdure.QueueInfo{}}
	for _, x := range runs {
		if x.Status != perdure.StatusPending {
			continue
		}
		ctx, cancel := context.WithTimeout(ctx, holdWithin)
		defer cancel()
		for q, err := range c.Queues(ctx) {
			if err != nil {
				return h
			}
			h.queues[q.Name] = q
		}
		h.known = true
		break
	}
	return h
}

// of returns the hold of a run.
func (h holds) of(x *perdure.Execution) hold {
	if !h.known || x.Status != perdure.StatusPending || x.Away != nil {
		return hold{}
	}
	name := terminal.Inline(x.Queue)
	q := h.queues[x.Queue]
	switch {
	case q != nil && q.Paused:
		return hold{"queue paused", "the queue " + name + " is paused", "perdure queues resume " + name + h.flags + " gives out its work again"}
	case q == nil || !q.Served:
		return hold{"no worker", "no worker serves the queue " + name, "perdure worker --queue " + name + " starts one"}
	}
	return hold{}
}

// printHold prints a hold on standard error.
func printHold(a *setup.App, h hold) {
	if text := h.text(); text != "" {
		_ = a.Stderr.Linef("perdure: %s", text)
	}
}
