package main

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/perdure/perdure"
)

// Exit codes of the program.
const (
	exitOK          = 0   // completed
	exitFailed      = 1   // failed, or the command failed
	exitUsage       = 2   // invalid arguments or configuration
	exitCancelled   = 3   // cancelled
	exitWaiting     = 4   // the run waits for the user
	exitInterrupted = 130 // Ctrl-C; the run can be resumed
)

// exit ends the program with a code. All messages have been printed.
type exit struct{ code int }

func (e exit) Error() string { return "exit" }

// usageError is an error that the user can correct on the command line: the problem and the remedy.
type usageError struct{ what, do string }

func (e usageError) Error() string {
	if e.do == "" {
		return e.what
	}
	return e.what + "\n  " + strings.ReplaceAll(e.do, "\n", "\n  ")
}

// exitCode returns the exit code for an error. An error from before the command began concerns
// flags and arguments.
func (a *app) exitCode(err error) int {
	var ended exit
	var usage usageError
	switch {
	case errors.As(err, &ended):
		return ended.code
	case errors.Is(err, errInterrupted):
		return exitInterrupted
	case errors.As(err, &usage), !a.began, perdure.IsCode(err, perdure.InvalidArgument):
		return exitUsage
	}
	return exitFailed
}

// errorText returns the text of an error for people; "" if it has been printed.
func (a *app) errorText(err error, code int) string {
	var ended exit
	if errors.As(err, &ended) || errors.Is(err, errInterrupted) {
		return ""
	}
	text := "perdure: " + plainError(err)
	var usage usageError
	if code == exitUsage && !errors.As(err, &usage) && !a.began {
		text += "\n  perdure --help shows the commands, perdure COMMAND --help what one takes"
	}
	if hint := a.hint(err); hint != "" {
		text += "\n  " + hint
	}
	return text
}

// plainError returns the message without the error's code at its beginning, because the message
// repeats it.
func plainError(err error) string {
	var coded *perdure.Error
	if !errors.As(err, &coded) {
		return err.Error()
	}
	text := coded.Message
	if coded.Err != nil {
		text += ": " + coded.Err.Error()
	}
	return text
}

// hint returns the remedy for an error whose text has none.
func (a *app) hint(err error) string {
	var coded *perdure.Error
	if !errors.As(err, &coded) {
		return ""
	}
	switch {
	case coded.Code == perdure.Unauthenticated && a.server != "":
		return "give the key with --key or in PERDURE_KEY; perdure keys create makes one"
	case coded.Code == perdure.Unavailable && a.server != "":
		return "is the server running, and is " + a.server + " its address? --server or PERDURE_SERVER sets it"
	case coded.Code == perdure.NotFound:
		return "perdure runs lists the runs of this server"
	}
	return ""
}

// endAtOnce ends the process because of a failure in the background, for which the command would
// wait forever.
func endAtOnce(err error) {
	fmt.Fprintln(newScreen(os.Stderr), "perdure: "+plainError(err))
	os.Exit(exitFailed)
}
