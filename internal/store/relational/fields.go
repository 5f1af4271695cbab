package relational

import (
	"encoding/json"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// field declares one column of the rows of a type: its name, its value and where it is scanned.
type field[T any] struct {
	name  string
	value func(x *T) (any, error)
	scan  func(x *T) any
}

// rows is a table whose rows are values of a type. Its fields are the table's columns, in order,
// without the columns of contents, which are loaded and written separately.
type rows[T any] struct {
	table
	fields []field[T]
}

// newRows declares the rows of a table. The first fields are the key.
func newRows[T any](name string, key int, fields []field[T], contents ...string) rows[T] {
	r := rows[T]{table{name: name, key: key, contents: len(contents)}, fields}
	for _, f := range fields {
		r.columns = append(r.columns, f.name)
	}
	r.columns = append(r.columns, contents...)
	return r
}

// written returns the rows prepared for writing single rows: see [table.written].
func (r rows[T]) written(sets ...[]string) rows[T] {
	r.table = r.table.written(sets...)
	return r
}

// values returns the values of the fields, with room for those of the contents.
func (r *rows[T]) values(x *T) ([]any, error) { return r.valuesWith(x, -1, nil) }

// valuesWith is values for a row whose field at the index at has the known value; -1 for none.
func (r *rows[T]) valuesWith(x *T, at int, known any) ([]any, error) {
	all := make([]any, len(r.fields), len(r.columns))
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

// write runs a statement whose parameters are the fields of a row.
func (r *rows[T]) write(v view, query *Statement, x *T) error {
	values, err := r.values(x)
	if err != nil {
		return err
	}
	return v.write(query, values...)
}

// scan appends the destinations of the fields to dest. There is room for some more.
func (r *rows[T]) scan(dest []any, x *T) []any {
	if dest == nil {
		dest = make([]any, 0, len(r.fields)+8)
	}
	for i := range r.fields {
		dest = append(dest, r.fields[i].scan(x))
	}
	return dest
}

// number constrains the types of fields that are stored as a number.
type number interface{ ~int | ~int32 | ~int64 }

func idField[T any](name string, at func(*T) *uuid.UUID) field[T] {
	return field[T]{name, func(x *T) (any, error) { return at(x)[:], nil }, func(x *T) any { return at(x) }}
}

// zeroIDField stores the zero id as NULL.
func zeroIDField[T any](name string, at func(*T) *uuid.UUID) field[T] {
	return field[T]{name, func(x *T) (any, error) { return idOrNull(at(x)), nil }, func(x *T) any { return at(x) }}
}

// optIDField stores nil as NULL.
func optIDField[T any](name string, at func(*T) **uuid.UUID) field[T] {
	return field[T]{name, func(x *T) (any, error) { return optID(*at(x)), nil }, func(x *T) any { return optIDInto(at(x)) }}
}

func textField[T any, S ~string](name string, at func(*T) *S) field[T] {
	return field[T]{name, func(x *T) (any, error) { return string(*at(x)), nil }, func(x *T) any { return textInto(at(x)) }}
}

// optTextField stores "" as NULL.
func optTextField[T any, S ~string](name string, at func(*T) *S) field[T] {
	return field[T]{name, func(x *T) (any, error) { return optText(*at(x)), nil }, func(x *T) any { return textInto(at(x)) }}
}

// nilTextField stores nil as NULL.
func nilTextField[T any, S ~string](name string, at func(*T) **S) field[T] {
	return field[T]{name, func(x *T) (any, error) { return textOf(*at(x)), nil }, func(x *T) any { return optTextInto(at(x)) }}
}

func numberField[T any, N number](name string, at func(*T) *N) field[T] {
	return field[T]{name, func(x *T) (any, error) { return int64(*at(x)), nil }, func(x *T) any { return at(x) }}
}

func flagField[T any](name string, at func(*T) *bool) field[T] {
	return field[T]{name, func(x *T) (any, error) { return flag(*at(x)), nil }, func(x *T) any { return flagInto(at(x)) }}
}

// timeField stores milliseconds, and the zero time as 0.
func timeField[T any](name string, at func(*T) *perdure.Time) field[T] {
	return field[T]{name, func(x *T) (any, error) { return millis(*at(x)), nil }, func(x *T) any { return timeInto(at(x)) }}
}

// optTimeField stores nil as NULL.
func optTimeField[T any](name string, at func(*T) **perdure.Time) field[T] {
	return field[T]{name, func(x *T) (any, error) { return optMillis(*at(x)), nil }, func(x *T) any { return optTimeInto(at(x)) }}
}

func hashField[T any](name string, at func(*T) *perdure.Hash) field[T] {
	return field[T]{name, func(x *T) (any, error) { return at(x)[:], nil }, func(x *T) any { return hashInto(at(x)) }}
}

// optHashField stores the zero hash as NULL.
func optHashField[T any](name string, at func(*T) *perdure.Hash) field[T] {
	return field[T]{name, func(x *T) (any, error) { return optHash(*at(x)), nil }, func(x *T) any { return hashInto(at(x)) }}
}

// rawTextField stores JSON as text, and nil as NULL.
func rawTextField[T any](name string, at func(*T) *json.RawMessage) field[T] {
	return field[T]{name, func(x *T) (any, error) { return rawText(*at(x)), nil }, func(x *T) any { return rawInto(at(x)) }}
}

// rawBytesField stores JSON as bytes, and nil as NULL.
func rawBytesField[T any](name string, at func(*T) *json.RawMessage) field[T] {
	return field[T]{name, func(x *T) (any, error) { return rawBytes(*at(x)), nil }, func(x *T) any { return rawInto(at(x)) }}
}

// bytesField stores nil as NULL.
func bytesField[T any](name string, at func(*T) *[]byte) field[T] {
	return field[T]{name, func(x *T) (any, error) { return rawBytes(*at(x)), nil }, func(x *T) any { return at(x) }}
}

// jsonField stores a value as JSON. A value for which none returns true is stored as NULL; none may
// be nil.
func jsonField[T, V any](name string, at func(*T) *V, none func(*V) bool) field[T] {
	value := func(x *T) (any, error) {
		v := at(x)
		if none != nil && none(v) {
			return nil, nil
		}
		encoded, err := encode(v)
		if err != nil {
			return nil, err
		}
		return encoded, nil
	}
	return field[T]{name, value, func(x *T) any { return jsonInto(at(x)) }}
}

// isNil reports whether a pointer is nil, for jsonField.
func isNil[V any](p **V) bool { return *p == nil }

// blobField stores the id of a blob. Scanning sets only the id; see completeRef.
func blobField[T any](name string, at func(*T) **perdure.BlobRef) field[T] {
	return field[T]{name, func(x *T) (any, error) { return refID(*at(x)), nil }, func(x *T) any { return blobInto(at(x)) }}
}

// derivedField stores a value that follows from other fields. It is not read.
func derivedField[T any](name string, value func(*T) any) field[T] {
	return field[T]{name, func(x *T) (any, error) { return value(x), nil }, func(*T) any { return nowhere }}
}
