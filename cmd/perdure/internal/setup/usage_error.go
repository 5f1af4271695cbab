package setup

import (
	"errors"
	"strings"

	"github.com/perdure/perdure"
	"github.com/spf13/cobra"
)

// UsageError is an error that the user can correct on the command line: the problem and the remedy.
type UsageError struct {
	Problem string
	Remedy  string // "" if there is none
}

// NewUsageError returns a UsageError. The parameter `what` is the problem, and `do` is the remedy,
// or "" for none.
func NewUsageError(what, do string) UsageError { return UsageError{Problem: what, Remedy: do} }

func (e UsageError) Error() string {
	if e.Remedy == "" {
		return e.Problem
	}
	return e.Problem + "\n  " + strings.ReplaceAll(e.Remedy, "\n", "\n  ")
}

// ExplainArguments lets a command and its subcommands explain the arguments that they refuse: what is
// missing or too much, the usage, and an example.
func ExplainArguments(cmd *cobra.Command) {
	for _, sub := range cmd.Commands() {
		ExplainArguments(sub)
	}
	check := cmd.Args
	if check == nil {
		return
	}
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		err := check(cmd, args)
		var explained UsageError
		if err == nil || errors.As(err, &explained) {
			return err
		}
		return NewUsageError(argumentsProblem(cmd, args), UsageOf(cmd))
	}
}

// argumentsProblem returns what is wrong with the number of arguments.
func argumentsProblem(cmd *cobra.Command, args []string) string {
	required, all := argumentNames(cmd.Use)
	switch missing := required[min(len(args), len(required)):]; {
	case len(missing) == 1:
		return missing[0] + " is missing"
	case len(missing) > 1:
		return strings.Join(missing[:len(missing)-1], ", ") + " and " + missing[len(missing)-1] + " are missing"
	}
	takes := "no arguments"
	if len(all) > 0 {
		takes = "only " + strings.Join(all, " ")
	}
	problem := cmd.CommandPath() + " takes " + takes
	if len(args) > len(all) {
		problem += ", so " + perdure.HidePassword(args[len(all)]) + " is too much"
		if len(all) > 0 {
			problem += "; an argument with spaces needs quotes"
		}
	}
	return problem
}

// argumentNames returns the names of the required arguments, and of all arguments, in the usage line of
// a command.
func argumentNames(use string) (required, all []string) {
	words := strings.Fields(use)
	for i := 1; i < len(words); i++ {
		word := words[i]
		switch {
		case strings.HasPrefix(word, "--"):
			i++ // the value of the flag
		case strings.HasPrefix(word, "["):
			group := word
			for !strings.HasSuffix(words[i], "]") && i+1 < len(words) {
				i++
				group += " " + words[i]
			}
			if group != "[flags]" && !strings.HasPrefix(group, "[-") {
				all = append(all, group)
			}
		default:
			required, all = append(required, word), append(all, word)
		}
	}
	return required, all
}

// UsageOf returns the usage line of a command and its first example.
func UsageOf(cmd *cobra.Command) string {
	text := "usage:   " + cmd.UseLine()
	lines := strings.Split(cmd.Example, "\n")
	for i, line := range lines {
		line = strings.TrimSpace(line)
		if i == 0 && line != "" {
			text += "\nexample: " + line
		} else if i > 0 && strings.HasSuffix(lines[i-1], "\\") {
			text += "\n  " + line
		} else if i > 0 {
			break
		}
	}
	return text + "\n" + cmd.CommandPath() + " --help shows more"
}
