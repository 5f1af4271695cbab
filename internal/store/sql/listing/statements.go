package listing

import (
	"fmt"
	"reflect"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/internal/store/sql/load"
	"github.com/perdure/perdure/internal/store/sql/load/tenant"
	"github.com/perdure/perdure/internal/store/sql/statement"
)

// Statements returns all statements of execution lists, for each combination of filters and
// each choice of a source.
func Statements(w *statement.Dialect) map[string]*statement.Statement {
	all := map[string]*statement.Statement{
		"listed": listedByNumber(w), "text blocks": TextBlocks, "part": partOf, "texts of a block": TextsOfBlock, "numbers of a block": NumbersOfBlock, "first beyond": FirstBeyond, "next org": tenant.NextOrg,
	}
	known := map[string]bool{}
	put := func(query *statement.Statement) {
		if !known[query.Text()] {
			known[query.Text()] = true
			all[fmt.Sprint("list ", len(known))] = query
		}
	}
	for _, f := range filterCombinations() {
		options := len(New(w, "o", f, store.ListRows).options)
		for best := range max(1, options) {
			l := New(w, "o", f, store.ListRows)
			for _, o := range l.options {
				put(o.skipping())
			}
			if options > 0 {
				l.take(best)
			} else if len(l.sources) == 0 && len(l.live) == 0 {
				l.walk()
			}
			for _, s := range l.sources {
				put(s.query)
			}
			for _, s := range l.live {
				put(s.query)
			}
			if len(l.where) > 0 {
				put(l.matchQuery())
			}
		}
	}
	return all
}

// filterCombinations returns every combination of filters that has its own statements. It finds the
// fields of ExecutionFilter by reflection.
func filterCombinations() []store.ExecutionFilter {
	all := []store.ExecutionFilter{{}}
	fields := reflect.TypeFor[store.ExecutionFilter]()
	for i := range fields.NumField() {
		before := all
		for _, value := range filterValues(fields.Field(i)) {
			for _, f := range before {
				reflect.ValueOf(&f).Elem().Field(i).Set(reflect.ValueOf(value))
				all = append(all, f)
			}
		}
	}
	return all
}

// filterValues returns values of a field of ExecutionFilter, one for each form of the SQL
// condition. For a field without special values, it returns one value of the field's type. It
// panics for an unknown type.
func filterValues(field reflect.StructField) []any {
	long := string(make([]byte, load.MemberBytes+1))
	switch field.Name {
	case "Cursor", "Limit": // these are parameters of every list
		return nil
	case "Status":
		return []any{
			[]perdure.Status{perdure.StatusCompleted},
			[]perdure.Status{perdure.StatusPending},
			[]perdure.Status{perdure.StatusWaiting},
			[]perdure.Status{perdure.StatusRunning},
			[]perdure.Status{perdure.StatusFailed, perdure.StatusCancelled},
			[]perdure.Status{perdure.StatusFailed, perdure.StatusPending, perdure.StatusCancelling},
		}
	case "Metadata":
		return []any{map[string]string{"a": "b"}, map[string]string{"a": "b", "c": "d"}, map[string]string{"a": long}}
	case "Query":
		return []any{"ab", "abcdef"}
	}
	switch field.Type {
	case reflect.TypeFor[string]():
		return []any{"k"}
	case reflect.TypeFor[[]string]():
		return []any{[]string{"k"}}
	case reflect.TypeFor[bool]():
		return []any{true}
	case reflect.TypeFor[*uuid.UUID]():
		return []any{&uuid.UUID{1}}
	case reflect.TypeFor[*perdure.Time]():
		return []any{&perdure.Time{}}
	}
	panic("no values are known of the filter " + field.Name)
}
