// Package lookup finds runs, reads them, puts their state into words, and has the commands that only
// show runs.
package lookup

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/cmd/perdure/internal/connection"
	"github.com/perdure/perdure/cmd/perdure/internal/setup"
	"github.com/perdure/perdure/cmd/perdure/internal/terminal"
	"github.com/spf13/cobra"
)

// Last is the argument that names the newest run.
const Last = "last"

// Find returns the run that an argument names.
func Find(ctx context.Context, c *client.Client, arg string) (*perdure.Execution, error) {
	id, err := findID(ctx, c, arg)
	if err != nil {
		return nil, err
	}
	return c.Get(ctx, id)
}

// FindID returns the id of the run that a flag names; nil if the flag is empty.
func FindID(ctx context.Context, c *client.Client, flag string) (*uuid.UUID, error) {
	if flag == "" {
		return nil, nil
	}
	id, err := findID(ctx, c, flag)
	if err != nil {
		return nil, err
	}
	return &id, nil
}

func findID(ctx context.Context, c *client.Client, arg string) (uuid.UUID, error) {
	if arg == Last {
		p, err := c.ListPage(ctx, client.ExecutionFilter{}, client.PageOptions{Limit: 1})
		if err != nil {
			return uuid.Nil, err
		}
		if len(p.Items) == 0 {
			return uuid.Nil, perdure.Errorf(perdure.NotFound, "there are no runs yet")
		}
		return p.Items[0].ID, nil
	}
	id, err := uuid.Parse(arg)
	if err != nil || len(arg) != 36 {
		return uuid.Nil, setup.NewUsageError(arg+" is no id of a run", "perdure runs lists them; last stands for the newest")
	}
	return id, nil
}

// Complete returns a function that suggests the ids of runs if a server is running.
func Complete(a *setup.App) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		return suggestRuns(a, cmd, args)
	}
}

func suggestRuns(a *setup.App, cmd *cobra.Command, args []string) ([]string, cobra.ShellCompDirective) {
	const none = cobra.ShellCompDirectiveNoFileComp
	if len(args) > 0 || setup.ReadVariables(cmd.Flags()) != nil {
		return nil, none
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), 2*time.Second)
	defer cancel()
	offers := []string{Last + "\tthe newest run"}
	conn, err := connection.ConnectRunning(ctx, a)
	if err != nil {
		return offers, none
	}
	defer func() { _ = conn.Close() }() // the connection was only read
	p, err := conn.ListPage(ctx, client.ExecutionFilter{}, client.PageOptions{Limit: 30})
	if err != nil {
		return offers, none
	}
	for _, x := range p.Items {
		offers = append(offers, fmt.Sprintf("%s\t%s, %s", x.ID, StatusWord(x), x.CreatedAt.Local().Format(terminal.TimeFormat)))
	}
	return offers, none
}
