// Package chat is the interactive chat of the commands perdure chat and perdure run --chat. An input line
// below the run's output accepts messages, commands and answers to questions, with completion.
package chat

import (
	"context"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/cmd/perdure/internal/builtin"
	"github.com/perdure/perdure/cmd/perdure/internal/connection"
	"github.com/perdure/perdure/cmd/perdure/internal/editor"
	"github.com/perdure/perdure/cmd/perdure/internal/setup"
	"github.com/perdure/perdure/cmd/perdure/internal/watcher"
)

// Target says with which run a chat begins: with a new one or an existing one.
type Target struct {
	Start  *client.StartRequest // settings of a run to start; if they have no prompt, the chat asks for it
	Resume *perdure.Execution
	Prompt string // the message with which to continue the run in the field Resume
}

// waits reports whether the chat has to ask the user for a prompt before it can start the new run.
func (t Target) waits() bool {
	return t.Resume == nil && t.Start.UserPrompt == "" && len(t.Start.Parts) == 0
}

// Options are the values that a command passes to the chat that it opens.
type Options struct {
	Conn   *connection.RunConn
	Worker *builtin.Worker
	Start  Starter // nil if the chat cannot start a run
	// Attach prepares the watcher for an existing run with which the chat continues. It then sends the prompt
	// to that run.
	Attach func(ctx context.Context, w *watcher.Watcher, x *perdure.Execution, prompt string) error
}

// Starter starts the runs of a chat.
type Starter interface {
	// NewRequest returns the request that starts a run with the flags of the command. The request has the
	// given models if the command names none.
	NewRequest(models []perdure.ModelConfig) (client.StartRequest, error)
	// StartRun starts a run. If the run needs a worker in this process, StartRun starts that worker too.
	StartRun(ctx context.Context, conn *connection.RunConn, q *client.StartRequest) (*perdure.Execution, error)
}

// Run runs a chat until the user leaves the chat or its run ends. The returned error determines the exit
// code of the command.
func Run(ctx context.Context, o Options, first Target) error {
	return newSession(o).run(ctx, first)
}

// Usable reports whether the command has a terminal for a chat with an input line.
func Usable(a *setup.App) bool { return !a.JSON && !a.Quiet && editor.Usable(a.Streams) }
