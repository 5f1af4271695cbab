package rules

import (
	"bytes"
	"encoding/json"
	"reflect"
)

// EqualJSON reports whether two texts are the same value. The store writes the JSON within its own JSON
// without blanks and with other escapes, so the bytes of a stored value can differ from those that were
// sent.
func EqualJSON(a, b json.RawMessage) bool {
	if bytes.Equal(a, b) {
		return true
	}
	x, errX := numbersKept(a)
	y, errY := numbersKept(b)
	return errX == nil && errY == nil && reflect.DeepEqual(x, y)
}

// numbersKept decodes a value with its numbers as texts: as a float64, different large integers would
// be equal.
func numbersKept(raw json.RawMessage) (v any, err error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	err = d.Decode(&v)
	return v, err
}
