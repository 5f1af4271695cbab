// Package questions has the commands that show the questions of runs and answer them.
package questions

import (
	"github.com/google/uuid"
	"github.com/perdure/perdure/cmd/perdure/internal/setup"
	"github.com/spf13/cobra"
)

// Commands returns the commands about questions.
func Commands(a *setup.App) []*cobra.Command {
	return []*cobra.Command{newQuestionsCommand(a), newAnswerCommand(a), newGrantsCommand(a)}
}

// parseID parses arg as an id. Its error contains `what`, the kind of thing that has the id, for
// example "question", and `list`, the command that prints the ids.
func parseID(what, list, arg string) (uuid.UUID, error) {
	id, err := uuid.Parse(arg)
	if err != nil || len(arg) != 36 {
		return uuid.Nil, setup.NewUsageError(arg+" is no id of a "+what, list+" lists them")
	}
	return id, nil
}
