package postgres

import (
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	// lockingStatement matches statements of a migration that lock a table against writers.
	lockingStatement = regexp.MustCompile(`(?m)^(?:ALTER TABLE|CREATE (?:UNIQUE )?INDEX(?: IF NOT EXISTS)? \w+ ON) (?:ONLY )?(\w+)|REFERENCES (\w+)|^CREATE (?:OR REPLACE )?TRIGGER \w+ [A-Z ]+ ON (\w+)`)
	createsTable     = regexp.MustCompile(`(?m)^CREATE TABLE (?:IF NOT EXISTS )?(\w+)`)
	locksTables      = regexp.MustCompile(`(?m)^LOCK TABLE ([\w, ]+) IN ACCESS EXCLUSIVE MODE;`)
)

// TestMigrationsLockFirst checks that a migration that locks existing tables more than once locks
// all of them first. Otherwise each attempt would deadlock with running servers: when it requests a
// stronger lock of a table that it already reads, or a second table while it holds one.
func TestMigrationsLockFirst(t *testing.T) {
	files, err := fs.Glob(migrationFiles, "migrations/*.sql")
	if err != nil {
		t.Fatal(err)
	}
	checked := 0
	for _, file := range files {
		name := path.Base(file)
		if name < "0030" { // older ones were never run beside released servers
			continue
		}
		text, err := migrationFiles.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		up, _, _ := strings.Cut(string(text), "-- +goose Down")
		made := names(createsTable, up)
		var old []string
		for _, table := range names(lockingStatement, up) {
			if !slices.Contains(made, table) {
				old = append(old, table)
			}
		}
		if len(old) < 2 {
			continue
		}
		checked++
		var first []string
		if found := locksTables.FindStringSubmatch(up); found != nil {
			first = strings.Split(found[1], ", ")
		}
		for _, table := range old {
			if !slices.Contains(first, table) {
				t.Errorf("%s changes %s, which its LOCK TABLE does not name", name, table)
			}
		}
	}
	if checked < 4 {
		t.Errorf("%d migrations were checked", checked)
	}
}

func names(of *regexp.Regexp, text string) (found []string) {
	for _, match := range of.FindAllStringSubmatch(text, -1) {
		found = append(found, strings.Join(match[1:], ""))
	}
	return found
}
