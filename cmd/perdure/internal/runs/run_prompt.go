package runs

import (
	"io"
	"strings"

	"github.com/perdure/perdure/cmd/perdure/internal/setup"
	"github.com/spf13/cobra"
)

// OnePrompt checks that the arguments are one prompt.
func OnePrompt(cmd *cobra.Command, args []string) error {
	switch {
	case len(args) == 0 || strings.TrimSpace(args[len(args)-1]) == "":
		return setup.NewUsageError("the prompt is missing", "say what is to be done: "+cmd.CommandPath()+` "Find out why the tests fail"`)
	case len(args) > 1:
		return setup.NewUsageError("there is more than one prompt", "put it in quotes: "+cmd.CommandPath()+` "`+strings.Join(args, " ")+`"`)
	}
	return nil
}

// readPrompt returns the prompt; for "-" it reads standard input.
func readPrompt(a *setup.App, prompt string) (string, error) {
	if prompt != "-" {
		return prompt, nil
	}
	raw, err := io.ReadAll(a.Stdin)
	if err != nil {
		return "", err
	}
	if strings.TrimSpace(string(raw)) == "" {
		return "", setup.NewUsageError("the prompt on standard input is empty", "write it there, or give it in place of -")
	}
	return string(raw), nil
}
