package runs

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/cmd/perdure/internal/connection"
	"github.com/perdure/perdure/cmd/perdure/internal/schemas"
	"github.com/perdure/perdure/cmd/perdure/internal/setup"
	"github.com/perdure/perdure/cmd/perdure/internal/terminal"
	"github.com/spf13/cobra"
)

// maxListed is the maximum number of kinds and of signals that an error lists.
const maxListed = 20

// findKind returns the registration of a kind of agents; a registration without schemas if the server
// has none.
func findKind(ctx context.Context, c *client.Client, name string) (perdure.KindInfo, error) {
	for kind, err := range c.Kinds(ctx, perdure.KindAgent) {
		if err != nil || kind.Kind == name {
			return kind, err
		}
	}
	return perdure.KindInfo{Kind: name}, nil
}

// isAbout reports whether err says that the server has refused the field of a request, or a part of it.
func isAbout(err error, field string) bool {
	var coded *perdure.Error
	if !errors.As(err, &coded) || coded.Code != perdure.InvalidArgument {
		return false
	}
	return slices.ContainsFunc(coded.Fields, func(f perdure.FieldError) bool {
		return f.Location == field || strings.HasPrefix(f.Location, field+".")
	})
}

// misfit returns what is wrong with a value that the server has refused.
func misfit(err error, field string) string {
	return strings.TrimPrefix(terminal.ErrorMessage(err), field+": ")
}

// helpWithin is the time limit for reading, from the server, the data that an error message adds as help.
const helpWithin = 5 * time.Second

// running connects to a server, if one is running, and calls the function `do`, which adds to the
// text of an error. Without a server, it does nothing.
func running(ctx context.Context, a *setup.App, do func(ctx context.Context, c *client.Client)) {
	ctx, cancel := context.WithTimeout(ctx, helpWithin)
	defer cancel()
	conn, err := connection.ConnectRunning(ctx, a)
	if err != nil {
		return
	}
	do(ctx, conn.Client)
	_ = conn.Close() // the connection was only read
}

// explainInput returns the error of perdure start for an input that does not fit the kind. The error
// describes the input that the kind takes.
func (s *startCommand) explainInput(ctx context.Context, c *client.Client, q client.StartRequest, wrong error) error {
	kind, err := findKind(ctx, c, q.Kind)
	if err != nil {
		return wrong
	}
	problem := "the input does not fit " + terminal.Inline(q.Kind) + ": " + misfit(wrong, "input")
	if q.Input == nil {
		problem = "the input of " + terminal.Inline(q.Kind) + " is missing"
	}
	var usage setup.UsageError
	if errors.As(wrong, &usage) { // the value is not JSON
		problem = usage.Problem
	}
	return setup.NewUsageError(problem, schemas.Explain(kind.InputSchema, "perdure start "+setup.ShellWord(q.Kind)))
}

// errNoKind returns the error of perdure start without a kind.
func (s *startCommand) errNoKind(cmd *cobra.Command) error {
	remedy := builtinText + "\n" + setup.UsageOf(cmd)
	running(cmd.Context(), s.App, func(ctx context.Context, c *client.Client) {
		kinds := startableKinds(ctx, c)
		remedy = kindsText(kinds) + "\n" + setup.UsageOf(cmd)
		if len(kinds) > 0 {
			remedy = kindsText(kinds) + "\nusage: " + cmd.UseLine() + "\n" + exampleStart(kinds[0])
		}
	})
	return setup.NewUsageError("KIND is missing: the kind of agent to start", remedy)
}

// explainKind returns the error of perdure start for an unknown kind. The error lists the registered kinds,
// and names first the one with the most similar name.
func (s *startCommand) explainKind(ctx context.Context, c *client.Client, name string, wrong error) error {
	kinds := startableKinds(ctx, c)
	remedy := "start the worker that registers it; perdure workers lists those that are connected\n" + kindsText(kinds)
	if near := setup.Nearest(name, append(kindNames(kinds), perdure.ReactKind)); len(near) > 0 {
		remedy = "did you mean " + terminal.Inline(strings.Join(near, " or ")) + "?\n" + kindsText(kinds)
	}
	return setup.NewUsageError(misfit(wrong, "kind"), remedy)
}

// startableKinds returns the registered kinds of agents, without the built-in one, which perdure run
// starts.
func startableKinds(ctx context.Context, c *client.Client) (kinds []perdure.KindInfo) {
	for kind, err := range c.Kinds(ctx, perdure.KindAgent) {
		if err != nil {
			break
		}
		if kind.Kind != perdure.ReactKind {
			kinds = append(kinds, kind)
		}
	}
	return kinds
}

func kindNames(kinds []perdure.KindInfo) (names []string) {
	for _, kind := range kinds {
		names = append(names, kind.Kind)
	}
	return names
}

// builtinText says how the built-in agent is started.
const builtinText = `perdure run "..." starts the built-in agent, ` + perdure.ReactKind

// kindsText lists the registered kinds, and after them the built-in one.
func kindsText(kinds []perdure.KindInfo) string {
	rows := make([][2]string, 0, len(kinds)+1)
	for _, kind := range kinds {
		rows = append(rows, [2]string{kind.Kind, kind.Description})
	}
	return "the registered kinds are:\n" + listText(append(rows, [2]string{perdure.ReactKind, `the built-in agent; perdure run "..." starts it`}))
}

func exampleStart(kind perdure.KindInfo) string {
	example := "example: perdure start " + setup.ShellWord(terminal.Inline(kind.Kind))
	if value := schemas.Example(kind.InputSchema); value != nil {
		example += " " + setup.ShellWord(terminal.Inline(string(value)))
	}
	return example
}

// listText returns a text with a line for each row. A row has a name and a description.
func listText(rows [][2]string) string {
	const maxDescription = 100
	var lines []string
	for _, row := range rows[:min(len(rows), maxListed)] {
		about := terminal.Cut(terminal.Inline(row[1]), maxDescription)
		lines = append(lines, strings.TrimRight(terminal.Hanging("  "+terminal.Inline(row[0]), 18, about, 0), " "))
	}
	if more := len(rows) - maxListed; more > 0 {
		lines = append(lines, fmt.Sprintf("  … (%d more)", more))
	}
	return strings.Join(lines, "\n")
}
