// Package statement declares the SQL statements that the stores share, the interface of connections
// that run them in a transaction, and the SQL dialects of the databases. A declaration says whether
// and how a statement runs for many rows of parameters.
package statement

import (
	"slices"
	"strings"
)

// Statement is a declared SQL statement. It also says whether and how a store can run it for many
// rows of parameters at once.
type Statement struct {
	text  string
	group *Group
}

// Text returns the statement for one row of parameters, in SQLite's dialect.
func (s *Statement) Text() string { return s.text }

// Group returns how the statement runs for many rows of parameters. It returns nil if the statement
// can only run for one row.
func (s *Statement) Group() *Group { return s.group }

// Kind is the kind of a statement that can run for many rows of parameters. With these kinds, the
// result for one row of parameters does not depend on the other rows.
type Kind int

// These are the kinds of statements that can run for many rows of parameters.
const (
	KindRead   Kind = iota + 1 // reads rows, without locks
	KindInsert                 // inserts one row for each row of parameters
	KindUpdate                 // changes the rows that equal the parameters in some columns
	KindDelete                 // deletes the rows that equal the parameters in some columns
)

// Group declares how a statement runs for many rows of parameters. A row of parameters contains,
// for an insert, the values of Columns; for other statements, the parameters of Set and then those
// of Where.
type Group struct {
	Kind  Kind
	Table string
	// Columns are the columns of an insert, each with one parameter.
	Columns []string
	// OnConflict is the clause ON CONFLICT of an insert, or "". If the clause updates the existing
	// row, ConflictKey contains the columns by which that row is found.
	OnConflict  string
	ConflictKey []string
	// Returning is the column of the new row that an insert returns; "" if the insert returns
	// nothing. If Returning is set, the first two columns of the insert must identify the row.
	Returning string
	// Set contains the assignments of an update. Where contains the conditions of an update or a
	// deletion.
	Set, Where Terms
}

// Terms are the assignments of an update, or conditions that must all hold.
type Terms []Term

// Term is an assignment to a column, or a condition on a column.
type Term struct {
	Column string
	// Rest is the text after the column if the term has no parameter, such as "= 0" or "IS NULL".
	Rest string
	// Adds reports that an assignment sets the column to the sum of its old value and the parameter.
	Adds bool
}

// Param reports whether the term has a parameter.
func (t Term) Param() bool { return t.Rest == "" }

// SQL returns the SQL text of the term. The text `value` replaces the term's parameter, and
// `prefix` is written before the name of the column.
func (t Term) SQL(prefix, value string) string {
	switch {
	case !t.Param():
		return prefix + t.Column + " " + t.Rest
	case t.Adds:
		return prefix + t.Column + " = " + t.Column + " + " + value
	}
	return prefix + t.Column + " = " + value
}

func (ts Terms) text(separator string) string {
	all := make([]string, len(ts))
	for i, t := range ts {
		all[i] = t.SQL("", "?")
	}
	return strings.Join(all, separator)
}

// Columns returns terms for a list of columns such as "id, name". Each term has one column and one
// parameter.
func Columns(list string) (ts Terms) {
	for _, column := range strings.Split(list, ", ") {
		ts = append(ts, Term{Column: column})
	}
	return ts
}

// Params appends terms for a list of columns such as "id, name". Each term has one column and one
// parameter.
func (ts Terms) Params(list string) Terms { return append(ts, Columns(list)...) }

// Plus appends an assignment that sets the column to the sum of its old value and the parameter.
func (ts Terms) Plus(column string) Terms { return append(ts, Term{Column: column, Adds: true}) }

// Fixed appends a term without a parameter: the column followed by the text `rest`.
func (ts Terms) Fixed(column, rest string) Terms { return append(ts, Term{Column: column, Rest: rest}) }

// declared contains the statements that are declared as package variables, in all packages.
var declared []*Statement

// Declared returns all statements that are declared as package variables. Statements that depend on
// a dialect or a filter are not among them.
func Declared() []*Statement { return slices.Clone(declared) }

// Declare adds a statement to the result of Declared. It must be called in the initialization of a
// package variable.
func Declare(s *Statement) *Statement {
	declared = append(declared, s)
	return s
}

// NewRead returns a query that reads. A store may run several uses of the query, with different
// parameters, as one statement.
func NewRead(text string) *Statement { return &Statement{text, &Group{Kind: KindRead}} }

// NewAlone returns a statement that a store runs for only one row of parameters at a time. It is
// required for queries that lock rows, queries with a list as a parameter, and all writes that are
// not a plain insert, update or deletion.
func NewAlone(text string) *Statement { return &Statement{text: text} }

// Read declares a query that reads. A store may run several uses of the query, with different
// parameters, as one statement.
func Read(text string) *Statement { return Declare(NewRead(text)) }

// Alone declares a statement that a store runs for only one row of parameters at a time: see
// NewAlone.
func Alone(text string) *Statement { return Declare(NewAlone(text)) }

// Insert declares an insert of one row, with a parameter for each column of the list.
func Insert(table, list string, options ...func(*Group)) *Statement {
	return Declare(NewInsert(table, strings.Split(list, ", "), options...))
}

// NewInsert returns an insert of one row, with a parameter for each column. It panics if the options
// do not fit the columns.
func NewInsert(table string, columns []string, options ...func(*Group)) *Statement {
	g := &Group{Kind: KindInsert, Table: table, Columns: columns}
	for _, option := range options {
		option(g)
	}
	for _, column := range g.ConflictKey {
		if !slices.Contains(columns, column) {
			panic("an insert into " + table + " has a conflict on a column that it does not write: " + column)
		}
	}
	if g.Returning != "" && (g.OnConflict != "" || len(columns) < 2) {
		panic("an insert into " + table + " may return no row, or a row that cannot be identified")
	}
	text := g.Head() + " VALUES (?" + strings.Repeat(", ?", len(columns)-1) + ")"
	if g.OnConflict != "" {
		text += " " + g.OnConflict
	}
	if g.Returning != "" {
		text += " RETURNING " + g.Returning
	}
	return &Statement{text, g}
}

// Ignoring is an option of an insert: if the row exists, the insert does nothing.
func Ignoring(g *Group) { g.OnConflict = "ON CONFLICT DO NOTHING" }

// IgnoringOn is an option of an insert: if a row with the same values in the columns of the list
// exists, the insert does nothing.
func IgnoringOn(list string) func(*Group) {
	return func(g *Group) { g.OnConflict = "ON CONFLICT (" + list + ") DO NOTHING" }
}

// Replacing is an option of an insert. If a row with the same values in the key columns exists, the
// insert changes that row as the assignments say. The assignments must not have parameters.
func Replacing(key, assignments string) func(*Group) {
	return func(g *Group) {
		g.ConflictKey = strings.Split(key, ", ")
		g.OnConflict = "ON CONFLICT (" + key + ") DO UPDATE SET " + assignments
	}
}

// Returning is an option of an insert: the insert returns a column of the new row.
func Returning(column string) func(*Group) { return func(g *Group) { g.Returning = column } }

// Update declares a statement that changes the rows that meet the conditions.
func Update(table string, set, where Terms) *Statement { return Declare(NewUpdate(table, set, where)) }

// NewUpdate returns a statement that changes the rows that meet the conditions.
func NewUpdate(table string, set, where Terms) *Statement {
	g := &Group{Kind: KindUpdate, Table: table, Set: set, Where: where}
	return &Statement{g.Head() + set.text(", ") + " WHERE " + where.text(" AND "), g}
}

// Remove declares a statement that deletes the rows that meet the conditions.
func Remove(table string, where Terms) *Statement {
	g := &Group{Kind: KindDelete, Table: table, Where: where}
	return Declare(&Statement{g.Head() + " WHERE " + where.text(" AND "), g})
}

// Head returns the beginning of the statement, up to its first parameter.
func (g *Group) Head() string {
	switch g.Kind {
	case KindInsert:
		return "INSERT INTO " + g.Table + " (" + strings.Join(g.Columns, ", ") + ")"
	case KindUpdate:
		return "UPDATE " + g.Table + " SET "
	case KindDelete:
		return "DELETE FROM " + g.Table
	}
	return ""
}
