package setup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/cmd/perdure/internal/terminal"
)

// Exit codes of the program.
const (
	ExitOK          = 0   // completed
	ExitFailed      = 1   // failed, or the command failed
	ExitUsage       = 2   // invalid arguments or configuration
	ExitCancelled   = 3   // cancelled
	ExitWaiting     = 4   // the run waits for the user
	ExitInterrupted = 130 // Ctrl-C; the run can be resumed
)

// exitError is an error that only carries an exit code. The command has already printed all messages.
type exitError struct{ code int }

// ExitWith returns an error with which the program ends with the given code, without another message.
func ExitWith(code int) error { return exitError{code} }

func (e exitError) Error() string { return "exit" }

// ExitCode returns the exit code of the program for a command's error. An error that occurs before
// the command begins its work is about flags and arguments, and has the code ExitUsage.
func (a *App) ExitCode(err error) int {
	var ended exitError
	var usage UsageError
	switch {
	case errors.As(err, &ended):
		return ended.code
	case errors.Is(err, ErrInterrupted):
		return ExitInterrupted
	case errors.As(err, &usage), !a.begun, perdure.IsCode(err, perdure.InvalidArgument):
		return ExitUsage
	}
	return ExitFailed
}

// ErrorText returns the text of an error for people. It returns "" if the command has already printed the
// error.
func (a *App) ErrorText(err error, code int) string {
	var ended exitError
	if errors.As(err, &ended) || errors.Is(err, ErrInterrupted) {
		return ""
	}
	text := "perdure: " + terminal.ErrorMessage(err)
	var usage UsageError
	if code == ExitUsage && !errors.As(err, &usage) && !a.begun {
		text += "\n  perdure --help shows the commands, perdure COMMAND --help what one takes"
	}
	for _, hint := range []string{a.hint(err), a.pathHint(err)} {
		if hint != "" {
			text += "\n  " + strings.ReplaceAll(hint, "\n", "\n  ")
		}
	}
	return text
}

// pathHint returns advice about a file or folder that the program cannot use; "" if err is about something
// else.
func (a *App) pathHint(err error) string {
	remedy := fileRemedy(err)
	var usage UsageError
	if remedy == "" || errors.As(err, &usage) {
		return ""
	}
	var of *fs.PathError
	data, unknown := a.DataDir()
	if errors.As(err, &of) && unknown == nil && isWithin(of.Path, data) {
		remedy += "\n--data DIR or PERDURE_DATA names another data directory"
	}
	return remedy
}

// hint returns advice about an error whose own text has no advice.
func (a *App) hint(err error) string {
	var coded *perdure.Error
	if !errors.As(err, &coded) {
		return ""
	}
	switch {
	case coded.Code == perdure.Unauthenticated && a.Server != "":
		return "give the key with --key or in PERDURE_KEY; perdure keys create makes one"
	case coded.Code == perdure.Unavailable && a.Server != "":
		return "is the server running, and is " + a.Server + " its address? --server or PERDURE_SERVER sets it"
	case coded.Code == perdure.Internal && a.Server == "" && strings.HasPrefix(coded.Message, "the database is damaged"):
		return "perdure store check FILE says whether a backup is sound; perdure store restore --replace FILE puts it in the place of the damaged file, which is renamed"
	case coded.Code == perdure.NotFound && strings.Contains(coded.Message, "execution"):
		return "perdure runs lists the runs of this server"
	}
	return ""
}

// ExitNow prints an error and ends the process. It is for failures in the background after which the
// command would wait forever.
func ExitNow(err error) {
	fmt.Fprintln(terminal.NewScreen(os.Stderr), "perdure: "+terminal.ErrorMessage(err))
	os.Exit(ExitFailed)
}

// ErrInterrupted is the cause with which a command's context is cancelled if the user or the system asks
// the command to stop.
var ErrInterrupted = errors.New("interrupted")
