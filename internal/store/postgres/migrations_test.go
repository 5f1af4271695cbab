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
	lockingStatement = regexp.MustCompile(`(?m)^(?:ALTER TABLE|CREATE (?:UNIQUE )?INDEX(?: IF NOT EXISTS)? \w+ ON) (?:ONLY )?(\w+)|REFERENCES (\w+)|^(?:CREATE (?:OR REPLACE )?TRIGGER \w+ [A-Z ]+|DROP TRIGGER \w+) ON (\w+)`)
	createsTable     = regexp.MustCompile(`(?m)^CREATE TABLE (?:IF NOT EXISTS )?(\w+)`)
	locksTables      = regexp.MustCompile(`(?m)^LOCK TABLE ([\w, ]+) IN ACCESS EXCLUSIVE MODE;`)
)

// TestMigrationsLockFirst checks that a migration that locks several existing tables locks all of
// them at its start. Otherwise it could deadlock with running servers again and again.
func TestMigrationsLockFirst(t *testing.T) {
	files, err := fs.Glob(migrationFiles, "migrations/*.sql")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d migrations: %v", len(files), err)
	}
	for _, file := range files {
		text, err := migrationFiles.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if late := lockedLate(string(text)); len(late) > 0 {
			t.Errorf("%s changes %v, which its LOCK TABLE does not name", path.Base(file), late)
		}
	}
	const change = "ALTER TABLE a ADD COLUMN IF NOT EXISTS x TEXT;\nDROP TRIGGER t ON b;\nALTER TABLE c ADD FOREIGN KEY (x) REFERENCES d (x);\n"
	for text, want := range map[string][]string{
		change: {"a", "c", "d", "b"},
		"LOCK TABLE a, b, c IN ACCESS EXCLUSIVE MODE;\n" + change:    {"d"},
		"LOCK TABLE a, b, c, d IN ACCESS EXCLUSIVE MODE;\n" + change: nil,
		"CREATE TABLE a (x TEXT);\nCREATE INDEX i ON a (x);\n":       nil,
	} {
		if late := lockedLate(text); !slices.Equal(slices.Sorted(slices.Values(late)), slices.Sorted(slices.Values(want))) {
			t.Errorf("%s: %v are locked late, want %v", text, late, want)
		}
	}
}

// lockedLate returns the existing tables that a migration changes without locking them at its start.
func lockedLate(text string) (late []string) {
	up, _, _ := strings.Cut(text, "-- +goose Down")
	made := names(createsTable, up)
	var old, first []string
	for _, table := range names(lockingStatement, up) {
		if !slices.Contains(made, table) {
			old = append(old, table)
		}
	}
	if len(old) < 2 {
		return nil
	}
	if found := locksTables.FindStringSubmatch(up); found != nil {
		first = strings.Split(found[1], ", ")
	}
	for _, table := range old {
		if !slices.Contains(first, table) {
			late = append(late, table)
		}
	}
	return late
}

func names(of *regexp.Regexp, text string) (found []string) {
	for _, match := range of.FindAllStringSubmatch(text, -1) {
		found = append(found, strings.Join(match[1:], ""))
	}
	return found
}
