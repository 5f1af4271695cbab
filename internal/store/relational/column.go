package relational

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// These functions convert fields to column values; scan.go converts them back. A time is stored as
// integer milliseconds, 0 for none; a uuid as its 16 bytes; an empty string as NULL.

func millis(t perdure.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

func optMillis(t *perdure.Time) any {
	if t == nil {
		return nil
	}
	return millis(*t)
}

func fromMillis(ms int64) perdure.Time {
	if ms == 0 {
		return perdure.Time{}
	}
	return perdure.AtMilli(ms)
}

func optText[T ~string](s T) any {
	if s == "" {
		return nil
	}
	return string(s)
}

func textOf[T ~string](s *T) any {
	if s == nil {
		return nil
	}
	return string(*s)
}

func optID(id *uuid.UUID) any {
	if id == nil {
		return nil
	}
	return bytes.Clone(id[:])
}

// idOrNull returns NULL for the zero id.
func idOrNull(id *uuid.UUID) any {
	if *id == uuid.Nil {
		return nil
	}
	return id[:]
}

func flag(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// optHash returns NULL for the zero hash.
func optHash(h perdure.Hash) any {
	if h == (perdure.Hash{}) {
		return nil
	}
	return h[:]
}

// optNumber returns NULL for 0.
func optNumber(n int64) any {
	if n == 0 {
		return nil
	}
	return n
}

// rawText returns JSON as TEXT, so that SQL can examine it.
func rawText(raw json.RawMessage) any {
	if raw == nil {
		return nil
	}
	return string(raw)
}

// rawBytes returns content as BLOB; NULL for nil.
func rawBytes(raw []byte) any {
	if raw == nil {
		return nil
	}
	return raw
}

// encode returns a small value as JSON text. The stored types can always be encoded, except a
// number that is no JSON number.
func encode(v any) (string, error) {
	raw, err := json.Marshal(v)
	if err != nil {
		return "", fmt.Errorf("encode %T: %w", v, err)
	}
	return string(raw), nil
}

// same reports whether two column values are equal.
func same(a, b any) bool {
	x, isBytes := a.([]byte)
	y, alsoBytes := b.([]byte)
	if isBytes || alsoBytes {
		return isBytes && alsoBytes && bytes.Equal(x, y)
	}
	return a == b
}
