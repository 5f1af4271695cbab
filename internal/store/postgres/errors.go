package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/perdure/perdure"
)

// The codes of PostgreSQL that mean something here; the first two letters are
// the class.
const (
	uniqueViolation   = "23505"
	badText           = "22021" // bytes that are no text, such as a zero
	badEscape         = "22P05"
	undefinedTable    = "42P01"
	readOnly          = "25006" // the server has become a standby
	noPassword        = "28P01"
	noLogin           = "28000"
	noDatabase        = "3D000"
	noRight           = "42501"
	tooMany           = "53300"
	diskFull          = "53100"
	starting          = "57P03"
	serialization     = "40001"
	deadlock          = "40P01"
	lockTimeout       = "55P03"
	queryCancelled    = "57014" // statement_timeout, too
	classResources    = "53"    // the disk is full, too many connections
	classIntervention = "57"    // shut down, starting up
	classSystem       = "58"    // errors of input and output
)

// codeOf returns the code of a statement's error, "" if err is none.
func codeOf(err error) string {
	var failed *pgconn.PgError
	if errors.As(err, &failed) {
		return failed.Code
	}
	return ""
}

// isStatement reports whether a statement is at fault, and the connection of use
// after it.
func isStatement(err error) bool {
	var failed *pgconn.PgError
	if errors.As(err, &failed) && (failed.SeverityUnlocalized == "FATAL" || failed.SeverityUnlocalized == "PANIC") {
		return false
	}
	code := codeOf(err)
	return code != "" && (code == queryCancelled || code[:2] != classIntervention) && code != readOnly
}

// isArgument reports whether a value has no place in the statement that it was given
// to, as a number too large for its column.
func isArgument(err error) bool {
	var refused pgx.ErrPreprocessingBatch
	// The driver says by these words alone that it had the statement and not the
	// connection to complain of.
	return errors.As(err, &refused) && strings.HasPrefix(refused.Error(), "error preprocessing batch (build)")
}

// isRace reports whether another transaction was in the way, and the same commands
// may well pass in a moment.
func isRace(err error) bool {
	switch codeOf(err) {
	case serialization, deadlock, uniqueViolation:
		return true
	}
	return false
}

// isTrouble reports whether it is the server's trouble, and no command's.
func isTrouble(err error) bool {
	code := codeOf(err)
	return code != "" && (code[:2] == classResources || code[:2] == classIntervention || code[:2] == classSystem) && code != queryCancelled
}

func unavailable(err error, format string, args ...any) error {
	return &perdure.Error{Code: perdure.Unavailable, Message: fmt.Sprintf(format, args...), Err: err}
}

const onlyStandby = "the database that answers takes no writes: it is a standby; let the store's URL name the primary too, as host1,host2"

// unreachable says why there is no connection, and what to do.
func unreachable(err error) error {
	return unavailable(err, "%s", orElse(advice(err), "the database cannot be reached"))
}

// advice says what to do about an error that is the server's; "" where there is
// nothing to say.
func advice(err error) string {
	switch codeOf(err) {
	case noPassword, noLogin:
		return "the database refuses the user or its password; correct the store's URL"
	case noDatabase:
		return "there is no such database; create it, with the encoding UTF8"
	case tooMany:
		return "the database has too many connections; raise its max_connections, by 20 for each server"
	case diskFull:
		return "the database's disk is full"
	case noRight:
		return "the database's user has no right to this; let it own the tables, or read and write them all"
	case readOnly:
		return onlyStandby
	case starting:
		return "the database is starting up or shutting down"
	case "":
		if errors.Is(err, errReadOnly) {
			return onlyStandby
		}
	}
	return ""
}

func orElse(text, other string) string {
	if text == "" {
		return other
	}
	return text
}

// refusal turns an error into what the caller of a command, or of a read, is
// told. Coded errors pass as they are.
func refusal(err error) error {
	var coded *perdure.Error
	switch {
	case err == nil || errors.As(err, &coded):
		return err
	case errors.Is(err, errLost):
		return unreachable(err)
	case errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded):
		return err
	}
	switch code := codeOf(err); {
	case isArgument(err):
		return &perdure.Error{Code: perdure.InvalidArgument, Message: "a value is too large or of the wrong form to be stored", Err: err}
	case code == uniqueViolation:
		return &perdure.Error{Code: perdure.AlreadyExists, Message: "a row of that identity exists already", Err: err}
	case code == badText || code == badEscape:
		return &perdure.Error{Code: perdure.InvalidArgument, Message: "a text holds a zero byte or bytes that are no UTF-8", Err: err}
	case code == lockTimeout || code == queryCancelled || code == serialization || code == deadlock:
		return unavailable(err, "the database is busy")
	case isTrouble(err) || advice(err) != "":
		return unavailable(err, "%s", orElse(advice(err), "the database has trouble of its own"))
	}
	return &perdure.Error{Code: perdure.Internal, Message: "the store failed", Err: err}
}
