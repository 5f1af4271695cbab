// Package column converts between Go values and the values of columns. A time is stored as integer
// milliseconds, 0 for none; a uuid as its 16 bytes; an empty string as NULL. A function with a name
// like TimeInto returns a destination into which a column is scanned.
package column

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// Millis returns a time in Unix milliseconds; 0 for the zero time.
func Millis(t perdure.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

// OptMillis returns a time in Unix milliseconds; NULL for nil.
func OptMillis(t *perdure.Time) any {
	if t == nil {
		return nil
	}
	return Millis(*t)
}

// FromMillis converts Unix milliseconds to a time; 0 is the zero time.
func FromMillis(ms int64) perdure.Time {
	if ms == 0 {
		return perdure.Time{}
	}
	return perdure.AtMilli(ms)
}

// OptText returns a string as a column value; NULL for "".
func OptText[T ~string](s T) any {
	if s == "" {
		return nil
	}
	return string(s)
}

// TextOf returns the string to which s points; NULL for nil.
func TextOf[T ~string](s *T) any {
	if s == nil {
		return nil
	}
	return string(*s)
}

// OptID returns a copy of the bytes of an id; NULL for nil.
func OptID(id *uuid.UUID) any {
	if id == nil {
		return nil
	}
	return bytes.Clone(id[:])
}

// IDOrNull returns the bytes of an id; NULL for the zero id.
func IDOrNull(id *uuid.UUID) any {
	if *id == uuid.Nil {
		return nil
	}
	return id[:]
}

// Flag returns 1 for true and 0 for false.
func Flag(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// OptHash returns the bytes of a hash; NULL for the zero hash.
func OptHash(h perdure.Hash) any {
	if h == (perdure.Hash{}) {
		return nil
	}
	return h[:]
}

// OptNumber returns a number; NULL for 0.
func OptNumber(n int64) any {
	if n == 0 {
		return nil
	}
	return n
}

// RawText returns JSON as a TEXT value, so that SQL can examine it; NULL for nil.
func RawText(raw json.RawMessage) any {
	if raw == nil {
		return nil
	}
	return string(raw)
}

// RawBytes returns content as BLOB; NULL for nil.
func RawBytes(raw []byte) any {
	if raw == nil {
		return nil
	}
	return raw
}

// Encode returns a small value as JSON text. For the types that are stored, it fails only if the
// value contains an invalid json.Number.
func Encode(v any) (string, error) {
	raw, err := json.Marshal(v)
	if err != nil {
		return "", fmt.Errorf("encode %T: %w", v, err)
	}
	return string(raw), nil
}

// Same reports whether two column values are equal.
func Same(a, b any) bool {
	x, isBytes := a.([]byte)
	y, alsoBytes := b.([]byte)
	if isBytes || alsoBytes {
		return isBytes && alsoBytes && bytes.Equal(x, y)
	}
	return a == b
}

// RefID returns the id of a blob; NULL for nil.
func RefID(ref *perdure.BlobRef) any {
	if ref == nil {
		return nil
	}
	return ref.ID[:]
}
