package main

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/perdure/perdure"
)

// Exit codes tell how a run, or the command itself, ended.
const (
	exitOK          = 0   // completed
	exitFailed      = 1   // failed, or the command could not do its work
	exitUsage       = 2   // the command was not given what it needs
	exitCancelled   = 3   // cancelled
	exitWaiting     = 4   // the run waits for the user
	exitInterrupted = 130 // Ctrl-C; the run can go on
)

// exit ends the program with a code. What there was to say has been printed.
type exit struct{ code int }

func (e exit) Error() string { return "exit" }

// usageError is what the user can mend on the command line: what is wrong, and
// what to do.
type usageError struct{ what, do string }

func (e usageError) Error() string {
	if e.do == "" {
		return e.what
	}
	return e.what + "\n  " + strings.ReplaceAll(e.do, "\n", "\n  ")
}

// exitCode returns the code for an error. One that came before the command began
// is about flags and arguments.
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

// errorText words an error for a person; "" if all has been said.
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

// plainError leaves out the code that a coded error begins with: the words
// after it say it.
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

// hint says what to do about an error whose text does not.
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

// endAtOnce ends the process for what failed beside the command, which would wait for it.
func endAtOnce(err error) {
	fmt.Fprintln(newScreen(os.Stderr), "perdure: "+plainError(err))
	os.Exit(exitFailed)
}
