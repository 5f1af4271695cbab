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

// These are the PostgreSQL error codes that this package handles. The first two letters of a code
// are its class.
const (
	uniqueViolation   = "23505"
	badText           = "22021" // bytes that are not valid text, such as a zero byte
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
	queryCancelled    = "57014" // also if statement_timeout has passed
	classResources    = "53"    // for example a full disk or too many connections
	classIntervention = "57"    // for example shutting down or starting up
	classSystem       = "58"    // I/O errors
)

// codeOf returns the PostgreSQL code of an error; "" if the error has none.
func codeOf(err error) string {
	var failed *pgconn.PgError
	if errors.As(err, &failed) {
		return failed.Code
	}
	return ""
}

// isStatement reports whether the error concerns only a statement, so that the connection remains
// usable.
func isStatement(err error) bool {
	var failed *pgconn.PgError
	if errors.As(err, &failed) && (failed.SeverityUnlocalized == "FATAL" || failed.SeverityUnlocalized == "PANIC") {
		return false
	}
	code := codeOf(err)
	return code != "" && (code == queryCancelled || code[:2] != classIntervention) && code != readOnly
}

// isArgument reports whether the error says that a value does not fit its statement, such as a
// number that is too large for its column.
func isArgument(err error) bool {
	var refused pgx.ErrPreprocessingBatch
	// Only the text of the driver's error distinguishes a refused value from an error of the
	// connection.
	return errors.As(err, &refused) && strings.HasPrefix(refused.Error(), "error preprocessing batch (build)")
}

// isRace reports whether the error is a conflict with another transaction, after which a retry of
// the same commands may succeed.
func isRace(err error) bool {
	switch codeOf(err) {
	case serialization, deadlock, uniqueViolation:
		return true
	}
	return false
}

// isServerError reports whether an error comes from the state of the database server, and not from
// a command.
func isServerError(err error) bool {
	code := codeOf(err)
	return code != "" && (code[:2] == classResources || code[:2] == classIntervention || code[:2] == classSystem) && code != queryCancelled
}

func unavailable(err error, format string, args ...any) error {
	return &perdure.Error{Code: perdure.Unavailable, Message: fmt.Sprintf(format, args...), Err: err}
}

const onlyStandby = "the database that answers takes no writes: it is a standby; let the store's URL name the primary too, as host1,host2"

// unreachable returns an error with code unavailable. It says why there is no connection to the
// database and what to do.
func unreachable(err error) error {
	return unavailable(err, "%s", orElse(advice(err), "the database cannot be reached"))
}

// advice returns what an operator should do about an error of the database server; "" if there is
// no advice.
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

// refusal converts an error to the error that a command or a read returns to its caller. An error
// that already has one of Perdure's codes remains unchanged.
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
	case isServerError(err) || advice(err) != "":
		return unavailable(err, "%s", orElse(advice(err), "the database has trouble of its own"))
	}
	return &perdure.Error{Code: perdure.Internal, Message: "the store failed", Err: err}
}
