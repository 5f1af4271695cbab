package lookup

import (
	"context"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/cmd/perdure/internal/setup"
	"github.com/perdure/perdure/cmd/perdure/internal/terminal"
)

// holdWithin is the time in which the server must say how a queue stands.
const holdWithin = 5 * time.Second

// hold is why no worker takes a PENDING run. It is zero if there is no such reason.
type hold struct {
	word   string // beside the status
	reason string // a sentence
	remedy string // what changes it
}

// text returns the reason and the remedy; "" for no hold.
func (h hold) text() string {
	if h.reason == "" {
		return ""
	}
	return h.reason + "; " + h.remedy
}

// queueHold returns why a PENDING run is not taken: its queue is paused, or no worker serves it. There
// is no hold if neither is so, or if the server does not say.
func queueHold(ctx context.Context, a *setup.App, c *client.Client, x *perdure.Execution) hold {
	return queueHolds(ctx, a, c, []*perdure.Execution{x}).of(x)
}

// holds are the queues of a server, for the holds of several runs.
type holds struct {
	flags  string
	known  bool // the server has said how the queues stand
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
