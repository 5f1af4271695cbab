// Package chat is the interactive chat of perdure chat and perdure run --chat: an input line below the
// output of a run, with commands, completion and answers to questions.
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

// Target is the run with which a chat continues.
type Target struct {
	Start  *client.StartRequest // settings of a run to start; if they have no prompt, the chat asks for it
	Resume *perdure.Execution
	Prompt string // the message with which to continue the run in the field Resume
}

// waits reports whether the target is a new run that has no prompt yet.
func (t Target) waits() bool {
	return t.Resume == nil && t.Start.UserPrompt == "" && len(t.Start.Parts) == 0
}

// Options are what a chat needs from the command that opens it.
type Options struct {
	Conn   *connection.RunConn
	Worker *builtin.Worker
	Start  Starter // nil if the chat cannot start a run
	// Attach prepares the watcher of a run that the chat continues, and sends the prompt to the run.
	Attach func(ctx context.Context, w *watcher.Watcher, x *perdure.Execution, prompt string) error
}

// Starter starts the runs of a chat.
type Starter interface {
	// NewRequest returns the settings of a run. If the command names no models, the run uses the given
	// models.
	NewRequest(models []perdure.ModelConfig) (client.StartRequest, error)
	// StartRun starts a run, and a worker if the run needs one here.
	StartRun(ctx context.Context, conn *connection.RunConn, q *client.StartRequest) (*perdure.Execution, error)
}

// Run runs a chat until the user leaves it or the run ends. It returns the error that determines
// the exit code.
func Run(ctx context.Context, o Options, first Target) error {
	return newSession(o).run(ctx, first)
}

// Usable reports whether the command has a terminal for a chat with an input line.
func Usable(a *setup.App) bool { return !a.JSON && !a.Quiet && editor.Usable(a.Streams) }
