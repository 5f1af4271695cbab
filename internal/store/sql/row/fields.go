package row

import (
	"encoding/json"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store/sql/column"
	"github.com/perdure/perdure/internal/store/sql/statement"
)

// Field declares one column of rows of the type T: its name, its value and its destination for
// scanning.
type Field[T any] struct {
	name  string
	value func(x *T) (any, error)
	scan  func(x *T) any // nil if the column is not read
}

// Unread returns a field that is like f, but is left out when rows are read.
func (f Field[T]) Unread() Field[T] {
	f.scan = nil
	return f
}

// Rows declares a table whose rows are values of the type T. Its fields are the table's columns, in
// order, without the columns of contents, which are loaded and written separately.
type Rows[T any] struct {
	Table
	fields []Field[T]
}

// New declares the rows of a table. The first `key` fields are the columns of the primary key. The
// parameter `contents` lists the columns of contents.
func New[T any](name string, key int, fields []Field[T], contents ...string) Rows[T] {
	r := Rows[T]{Table{Name: name, Key: key}, fields}
	for _, f := range fields {
		r.Columns = append(r.Columns, f.name)
		if f.scan != nil {
			r.read = append(r.read, f.name)
		}
	}
	r.Columns = append(r.Columns, contents...)
	return r
}

// Written returns r with the statements for writing single rows. The parameter `sets` contains the
// groups of columns for Table.Sets.
func (r Rows[T]) Written(sets ...[]string) Rows[T] {
	r.Table = r.Table.written(sets...)
	return r
}

// Values returns the values of the fields. The slice has capacity for the values of the contents.
func (r *Rows[T]) Values(x *T) ([]any, error) { return r.ValuesWith(x, -1, nil) }

// ValuesWith returns the values of the fields, like Values. For the field with the index `at`, it
// uses the value `known`; -1 stands for no field.
func (r *Rows[T]) ValuesWith(x *T, at int, known any) ([]any, error) {
	all := make([]any, len(r.fields), len(r.Columns))
	for i := range r.fields {
		if i == at {
			all[i] = known
			continue
		}
		var err error
		if all[i], err = r.fields[i].value(x); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// Write runs a statement whose parameters are the values of the fields of the row x.
func (r *Rows[T]) Write(v statement.View, query *statement.Statement, x *T) error {
	values, err := r.Values(x)
	if err != nil {
		return err
	}
	return v.Write(query, values...)
}

// Scan appends the destinations of the fields to dest, for the columns of [Table.List].
func (r *Rows[T]) Scan(dest []any, x *T) []any {
	if dest == nil {
		dest = make([]any, 0, len(r.fields)+8)
	}
	for i := range r.fields {
		if scan := r.fields[i].scan; scan != nil {
			dest = append(dest, scan(x))
		}
	}
	return dest
}

// One returns the row that a query selects; nil if there is none. The query must select the columns
// of [Table.List].
func (r *Rows[T]) One(v statement.View, query *statement.Statement, args ...any) (*T, error) {
	var x T
	found, err := v.One(query, args, r.Scan(nil, &x)...)
	if err != nil || !found {
		return nil, err
	}
	return &x, nil
}

// All returns the rows that a query selects. The query must select the columns of [Table.List].
func (r *Rows[T]) All(v statement.View, query *statement.Statement, args ...any) (all []*T, err error) {
	err = v.Each(query, args, func(row func(...any) error) error {
		var x T
		err := row(r.Scan(nil, &x)...)
		all = append(all, &x)
		return err
	})
	return all, err
}

// number constrains the types of fields that are stored as a number.
type number interface{ ~int | ~int32 | ~int64 }

// ID declares a column for an id.
func ID[T any](name string, at func(*T) *uuid.UUID) Field[T] {
	return Field[T]{name, func(x *T) (any, error) { return at(x)[:], nil }, func(x *T) any { return at(x) }}
}

// ZeroID declares a column for an id; the zero id is stored as NULL.
func ZeroID[T any](name string, at func(*T) *uuid.UUID) Field[T] {
	return Field[T]{name, func(x *T) (any, error) { return column.IDOrNull(at(x)), nil }, func(x *T) any { return at(x) }}
}

// OptID declares a column for an id; nil is stored as NULL.
func OptID[T any](name string, at func(*T) **uuid.UUID) Field[T] {
	return Field[T]{name, func(x *T) (any, error) { return column.OptID(*at(x)), nil }, func(x *T) any { return column.OptIDInto(at(x)) }}
}

// Text declares a column for a text.
func Text[T any, S ~string](name string, at func(*T) *S) Field[T] {
	return Field[T]{name, func(x *T) (any, error) { return string(*at(x)), nil }, func(x *T) any { return column.TextInto(at(x)) }}
}

// OptText declares a column for a text; "" is stored as NULL.
func OptText[T any, S ~string](name string, at func(*T) *S) Field[T] {
	return Field[T]{name, func(x *T) (any, error) { return column.OptText(*at(x)), nil }, func(x *T) any { return column.TextInto(at(x)) }}
}

// NilText declares a column for a text; nil is stored as NULL.
func NilText[T any, S ~string](name string, at func(*T) **S) Field[T] {
	return Field[T]{name, func(x *T) (any, error) { return column.TextOf(*at(x)), nil }, func(x *T) any { return column.OptTextInto(at(x)) }}
}

// Number declares a column for a number.
func Number[T any, N number](name string, at func(*T) *N) Field[T] {
	return Field[T]{name, func(x *T) (any, error) { return int64(*at(x)), nil }, func(x *T) any { return at(x) }}
}

// NilNumber declares a column for a number; nil is stored as NULL.
func NilNumber[T any](name string, at func(*T) **int64) Field[T] {
	value := func(x *T) (any, error) {
		if n := *at(x); n != nil {
			return *n, nil
		}
		return nil, nil
	}
	return Field[T]{name, value, func(x *T) any { return at(x) }}
}

// Flag declares a column for a bool, stored as 0 or 1.
func Flag[T any](name string, at func(*T) *bool) Field[T] {
	return Field[T]{name, func(x *T) (any, error) { return column.Flag(*at(x)), nil }, func(x *T) any { return column.FlagInto(at(x)) }}
}

// Time declares a column for a time, stored in milliseconds. The zero time is stored as 0.
func Time[T any](name string, at func(*T) *perdure.Time) Field[T] {
	return Field[T]{name, func(x *T) (any, error) { return column.Millis(*at(x)), nil }, func(x *T) any { return column.TimeInto(at(x)) }}
}

// OptTime declares a column for a time; nil is stored as NULL.
func OptTime[T any](name string, at func(*T) **perdure.Time) Field[T] {
	return Field[T]{name, func(x *T) (any, error) { return column.OptMillis(*at(x)), nil }, func(x *T) any { return column.OptTimeInto(at(x)) }}
}

// Hash declares a column for a hash.
func Hash[T any](name string, at func(*T) *perdure.Hash) Field[T] {
	return Field[T]{name, func(x *T) (any, error) { return at(x)[:], nil }, func(x *T) any { return column.HashInto(at(x)) }}
}

// OptHash declares a column for a hash; the zero hash is stored as NULL.
func OptHash[T any](name string, at func(*T) *perdure.Hash) Field[T] {
	return Field[T]{name, func(x *T) (any, error) { return column.OptHash(*at(x)), nil }, func(x *T) any { return column.HashInto(at(x)) }}
}

// RawText declares a column for JSON that is stored as text; nil is stored as NULL.
func RawText[T any](name string, at func(*T) *json.RawMessage) Field[T] {
	return Field[T]{name, func(x *T) (any, error) { return column.RawText(*at(x)), nil }, func(x *T) any { return column.RawInto(at(x)) }}
}

// RawBytes declares a column for JSON that is stored as bytes; nil is stored as NULL.
func RawBytes[T any](name string, at func(*T) *json.RawMessage) Field[T] {
	return Field[T]{name, func(x *T) (any, error) { return column.RawBytes(*at(x)), nil }, func(x *T) any { return column.RawInto(at(x)) }}
}

// Bytes declares a column for bytes; nil is stored as NULL.
func Bytes[T any](name string, at func(*T) *[]byte) Field[T] {
	return Field[T]{name, func(x *T) (any, error) { return column.RawBytes(*at(x)), nil }, func(x *T) any { return at(x) }}
}

// JSON declares a column that stores a value as JSON. The function `none` may be nil. If it returns
// true for a value, the value is stored as NULL.
func JSON[T, V any](name string, at func(*T) *V, none func(*V) bool) Field[T] {
	value := func(x *T) (any, error) {
		v := at(x)
		if none != nil && none(v) {
			return nil, nil
		}
		encoded, err := column.Encode(v)
		if err != nil {
			return nil, err
		}
		return encoded, nil
	}
	return Field[T]{name, value, func(x *T) any { return column.JSONInto(at(x)) }}
}

// IsNil reports whether a pointer is nil. It can be the function `none` of JSON.
func IsNil[V any](p **V) bool { return *p == nil }

// Blob declares a column for the id of a blob. Scanning a row sets only the id of the reference.
func Blob[T any](name string, at func(*T) **perdure.BlobRef) Field[T] {
	return Field[T]{name, func(x *T) (any, error) { return column.RefID(*at(x)), nil }, func(x *T) any { return column.BlobInto(at(x)) }}
}

// Derived declares a column whose value follows from other fields. It is written and not read.
func Derived[T any](name string, value func(*T) any) Field[T] {
	return Field[T]{name, func(x *T) (any, error) { return value(x), nil }, func(*T) any { return column.Nowhere }}
}

// Encoded declares a column with functions that return the stored value and the destination for
// scanning.
func Encoded[T any](name string, value, scan func(x *T) any) Field[T] {
	return Field[T]{name, func(x *T) (any, error) { return value(x), nil }, scan}
}
