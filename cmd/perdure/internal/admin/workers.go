package admin

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/cmd/perdure/internal/connection"
	"github.com/perdure/perdure/cmd/perdure/internal/setup"
	"github.com/perdure/perdure/cmd/perdure/internal/terminal"
	"github.com/spf13/cobra"
)

func newWorkersCommand(a *setup.App) *cobra.Command {
	cmd := newListCommand(a, "workers", "List the workers, and what they hold", (*client.Client).Workers, printWorkers)
	cmd.Use, cmd.GroupID = "workers", "serve"
	cmd.Args = setup.NoCommand
	cmd.Long = `Lists the workers that any server of the store has seen within the last hour. A
worker that was not seen for 30 seconds is lost: what it held goes to other workers
when its leases end. HOLDS counts the runs and tasks that it has claimed; --json
lists them.`
	cmd.Example = "  perdure workers\n  perdure workers --json | jq '.items[].holds[].agentExecutionId'"
	return cmd
}

func printWorkers(a *setup.App, workers []*perdure.WorkerInfo) error {
	if a.JSON {
		return a.Stdout.PrintJSON(client.Page[*perdure.WorkerInfo]{Items: workers})
	}
	if len(workers) == 0 {
		return a.Stdout.Linef("no workers; perdure worker starts one")
	}
	return workerTable(workers, time.Now()).Print(a.Stdout)
}

func workerTable(workers []*perdure.WorkerInfo, now time.Time) *terminal.Table {
	t := &terminal.Table{Columns: []terminal.Column{
		{Head: "ID"},
		{Head: "STATE", Style: workerStyle},
		{Head: "SEEN", Omit: 3},
		{Head: "HOLDS"},
		{Head: "SLOTS", Omit: 2},
		{Head: "VERSION", Omit: 4},
		{Head: "QUEUES", Omit: 1},
		{Head: "KINDS", Cut: true},
	}}
	for _, w := range workers {
		state := "lost"
		if w.Connected {
			state = "connected"
		}
		t.Add(w.ID.String(), state, terminal.Ago(now.Sub(w.LastSeenAt.Time)), countOf(w.Holding), fmt.Sprintf("%d+%d", w.AgentSlots, w.TaskSlots),
			terminal.OrDash(w.Version), strings.Join(w.Queues, ","), strings.Join(append(w.Agents[:len(w.Agents):len(w.Agents)], w.Tasks...), ","))
	}
	return t
}

func workerStyle(cell string) terminal.Style {
	if cell == "lost" {
		return terminal.StyleWarn
	}
	return terminal.StyleNone
}

// countOf returns a number as text. The server stops counting at a maximum, for which the text is "1,000+".
func countOf(n int) string {
	if n >= perdure.MaxQueueCount {
		return "1,000+"
	}
	return strconv.Itoa(n)
}

func newQueuesCommand(a *setup.App) *cobra.Command {
	cmd := newListCommand(a, "queues", "List the queues; pause and resume them", (*client.Client).Queues, printQueues)
	cmd.Use, cmd.GroupID = "queues", "serve"
	cmd.Args = setup.NoCommand
	cmd.Long = `Lists the queues that have work, that connected workers serve, or that are paused.
WAITING counts runs and tasks that a worker could claim now, AGE is how long the
oldest of them has waited, RUNNING counts those that workers hold. A queue with
waiting work and no workers is not served: start a worker with --queue NAME.

A paused queue gives out no more work. What runs continues, and what arrives waits.`
	cmd.Example = "  perdure queues\n  perdure queues pause default\n  perdure queues resume default"
	cmd.AddCommand(newPauseCommand(a), newResumeQueueCommand(a))
	return cmd
}

func printQueues(a *setup.App, queues []*perdure.QueueInfo) error {
	if a.JSON {
		return a.Stdout.PrintJSON(client.Page[*perdure.QueueInfo]{Items: queues})
	}
	if len(queues) == 0 {
		return a.Stdout.Linef("no queues")
	}
	return queueTable(queues, time.Now()).Print(a.Stdout)
}

func queueTable(queues []*perdure.QueueInfo, now time.Time) *terminal.Table {
	t := &terminal.Table{Columns: []terminal.Column{
		{Head: "QUEUE"},
		{Head: "STATE", Style: queueStyle},
		{Head: "WAITING"},
		{Head: "AGE", Omit: 1},
		{Head: "RUNNING"},
		{Head: "WORKERS", Omit: 2},
	}}
	for _, q := range queues {
		age := "-"
		if q.OldestAt != nil {
			age = terminal.Duration(max(0, now.Sub(q.OldestAt.Time)))
		}
		t.Add(q.Name, queueState(q), countOf(q.Waiting), age, countOf(q.Running), countOf(q.Workers))
	}
	return t
}

func queueState(q *perdure.QueueInfo) string {
	switch {
	case q.Paused:
		return "paused"
	case !q.Served:
		return "not served"
	}
	return "served"
}

func queueStyle(cell string) terminal.Style {
	if cell == "served" {
		return terminal.StyleNone
	}
	return terminal.StyleWarn
}

func newPauseCommand(a *setup.App) *cobra.Command {
	cmd := &cobra.Command{
		Use: "pause NAME", Short: "Give out no more work of a queue; what runs continues",
		Long: `Pauses a queue on all servers, until perdure queues resume. Runs and tasks that
workers hold continue; new ones, and runs that wake up, wait. The pause survives
restarts, may be repeated, and may come before the queue has any work. Other servers
follow within a second. Only an admin may use it.`,
		Example: "  perdure queues pause default",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return connection.Request(cmd.Context(), a, func(conn *connection.Conn) error {
				p, err := conn.Client.PauseQueue(cmd.Context(), args[0])
				if err != nil {
					return err
				}
				if a.JSON {
					return a.Stdout.PrintJSON(p)
				}
				return a.Stdout.Linef("%s is paused since %s", p.Queue, p.At.Local().Format(terminal.TimeFormat))
			})
		},
	}
	a.JSONFlag(cmd)
	return cmd
}

func newResumeQueueCommand(a *setup.App) *cobra.Command {
	cmd := &cobra.Command{
		Use: "resume NAME", Short: "Give out the work of a paused queue again",
		Long: `Ends the pause of a queue on all servers. Of a queue that was not paused the command
prints the state, and nothing changes. Only an admin may use it.`,
		Example: "  perdure queues resume default",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return connection.Request(cmd.Context(), a, func(conn *connection.Conn) error {
				queues, err := all(conn.Client.Queues(cmd.Context()))
				if err != nil {
					return err
				}
				if err := conn.Client.ResumeQueue(cmd.Context(), args[0]); err != nil {
					return err
				}
				if a.JSON {
					return a.Stdout.PrintJSON(struct {
						Queue  string `json:"queue"`
						Paused bool   `json:"paused"`
					}{args[0], false})
				}
				return printResumed(a, args[0], queues)
			})
		},
	}
	a.JSONFlag(cmd)
	return cmd
}

// printResumed prints what resuming a queue has changed. The parameter `queues` has the server's
// queues as they were before the command.
func printResumed(a *setup.App, name string, queues []*perdure.QueueInfo) error {
	var names []string
	for _, q := range queues {
		names = append(names, q.Name)
		switch {
		case q.Name != name:
		case q.Paused:
			return a.Stdout.Linef("the queue %s is no longer paused and gives out its work again", name)
		default:
			return a.Stdout.Linef("the queue %s was not paused, and nothing has changed: it is %s, with %s waiting and %s running", name, queueState(q), countOf(q.Waiting), countOf(q.Running))
		}
	}
	if near := setup.Nearest(name, names); len(near) > 0 {
		return a.Stdout.Linef("the queue %s was not paused, and nothing has changed: it has no work and no workers; did you mean %s?", name, strings.Join(near, " or "))
	}
	return a.Stdout.Linef("the queue %s was not paused, and nothing has changed: it has no work and no workers", name)
}
