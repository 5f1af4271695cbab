package postgres

import (
	"net/url"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/perdure/perdure"
)

// TestServerErrorsHaveAdvice checks that some errors of the database server have the code
// unavailable and a message with advice, whether a statement or a lost connection has returned
// them.
func TestServerErrorsHaveAdvice(t *testing.T) {
	for code, says := range map[string]string{
		noPassword: "password", noLogin: "URL", noDatabase: "create it", tooMany: "max_connections", diskFull: "disk",
		starting: "starting up", readOnly: "standby", noRight: "right",
	} {
		failed := &pgconn.PgError{Code: code, SeverityUnlocalized: "FATAL", Message: "it failed"}
		for at, err := range map[string]error{"a statement": refusal(failed), "a connection": refusal(lost(failed))} {
			if !perdure.IsCode(err, perdure.Unavailable) || !strings.Contains(err.Error(), says) {
				t.Errorf("%s at %s gives %v, want a word on %s", code, at, err, says)
			}
		}
	}
}

// TestOpenErrorsHaveAdvice checks that the error of opening a store says why the database server
// cannot be used.
func TestOpenErrorsHaveAdvice(t *testing.T) {
	right, err := url.Parse(emptyDatabase(t))
	if err != nil {
		t.Fatal(err)
	}
	for says, change := range map[string]func(u *url.URL){
		"user or its password": func(u *url.URL) { u.User = url.UserPassword("nobody_there", "x") },
		"create it":            func(u *url.URL) { u.Path = "/not_there" },
		"cannot be reached":    func(u *url.URL) { u.Host = "127.0.0.1:1" },
	} {
		u := *right
		change(&u)
		s, err := Open(t.Context(), Options{without: optimizations{texts: true}, URL: u.String(), Logger: quiet})
		if err == nil {
			t.Errorf("%s opens: %v", u.String(), s.Close())
			continue
		}
		if !perdure.IsCode(err, perdure.Unavailable) || !strings.Contains(err.Error(), says) {
			t.Errorf("%s gives %v, want a word on %q", u.String(), err, says)
		}
	}
}
