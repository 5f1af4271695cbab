// Package schema describes the tables of a database, and checks that two databases have the same
// tables.
package schema

import (
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"github.com/perdure/perdure"
)

// Table is a table as the database declares it. Code that processes all stored data reads the
// tables from the database, so that it cannot miss one.
type Table struct {
	Name string
	// Columns are in alphabetical order.
	Columns []string
	// Key contains the columns of the primary key, in the order of the key.
	Key []string
}

// difference lists the names that are in a but not in b, each with the text `what` before it.
func difference(what string, a, b []string) []string {
	var told []string
	for _, name := range a {
		if !slices.Contains(b, name) {
			told = append(told, what+name)
		}
	}
	return told
}

// SameTables checks that two databases have the same tables with the same columns, so that rows of
// one can be inserted into the other. Primary keys may differ. Errors: conflict, with the
// differences.
func SameTables(a, b []Table) error {
	names := func(tables []Table) (all []string) {
		for _, t := range tables {
			all = append(all, t.Name)
		}
		return all
	}
	told := append(difference("only in the first: table ", names(a), names(b)), difference("only in the second: table ", names(b), names(a))...)
	for _, t := range a {
		i := slices.IndexFunc(b, func(other Table) bool { return other.Name == t.Name })
		if i < 0 {
			continue
		}
		told = append(told, difference("only in the first: "+t.Name+".", t.Columns, b[i].Columns)...)
		told = append(told, difference("only in the second: "+t.Name+".", b[i].Columns, t.Columns)...)
	}
	if len(told) == 0 {
		return nil
	}
	return &perdure.Error{Code: perdure.Conflict, Message: "the two databases have different tables", Err: fmt.Errorf("%s", strings.Join(told, "; "))}
}

// NewestMigration returns the highest number in the names of the migration files.
func NewestMigration(files fs.FS) (newest int64, err error) {
	names, err := fs.Glob(files, "*.sql")
	for _, name := range names {
		digits, _, _ := strings.Cut(name, "_")
		n, err := strconv.ParseInt(digits, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("the migration %s has no number: %w", name, err)
		}
		newest = max(newest, n)
	}
	return newest, err
}
