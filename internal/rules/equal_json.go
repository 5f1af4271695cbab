package rules

import (
	"bytes"
	"encoding/json"
	"reflect"
)

// EqualJSON reports whether two JSON texts represent the same value. The store writes JSON without
// blanks and with different escapes, so the bytes of a stored value can differ from the bytes that
// were sent.
func EqualJSON(a, b json.RawMessage) bool {
	if bytes.Equal(a, b) {
		return true
	}
	x, errX := numbersKept(a)
	y, errY := numbersKept(b)
	return errX == nil && errY == nil && reflect.DeepEqual(x, y)
}

// numbersKept decodes a JSON value and keeps its numbers as text, because different large integers
// can be equal as float64 values.
func numbersKept(raw json.RawMessage) (v any, err error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	err = d.Decode(&v)
	return v, err
}
