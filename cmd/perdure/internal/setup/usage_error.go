package setup

import (
	"strings"
)

// UsageError is an error that the user can correct on the command line: the problem and the remedy.
type UsageError struct {
	Problem string
	Remedy  string // "" if there is none
}

// NewUsageError returns an error with the problem and the remedy, or "" for no remedy.
func NewUsageError(what, do string) UsageError { return UsageError{Problem: what, Remedy: do} }

func (e UsageError) Error() string {
	if e.Remedy == "" {
		return e.Problem
	}
	return e.Problem + "\n  " + strings.ReplaceAll(e.Remedy, "\n", "\n  ")
}
