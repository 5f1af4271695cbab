package relational

import (
	"encoding/json"
	"fmt"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// The types in this file convert column values to fields.

// NumberScanner is a destination for a number. A store that knows the kind of a value calls
// ScanNumber, which avoids an interface allocation. NULL is passed to Scan.
type NumberScanner interface {
	ScanNumber(n int64) error
}

// BytesScanner is a destination for a text or bytes. b is valid only until ScanBytes returns. NULL
// is passed to Scan.
type BytesScanner interface {
	ScanBytes(b []byte) error
}

// timeCol scans a time.
type timeCol perdure.Time

// ScanNumber implements NumberScanner.
func (t *timeCol) ScanNumber(ms int64) error {
	*t = timeCol(fromMillis(ms))
	return nil
}

func (t *timeCol) Scan(src any) error {
	ms, ok := src.(int64)
	if !ok && src != nil {
		return fmt.Errorf("a time is stored as %T", src)
	}
	*t = timeCol(fromMillis(ms))
	return nil
}

// optTime scans a time that may be NULL.
type optTime struct{ p **perdure.Time }

// ScanNumber implements NumberScanner.
func (t optTime) ScanNumber(ms int64) error {
	at := fromMillis(ms)
	*t.p = &at
	return nil
}

func (t optTime) Scan(src any) error {
	*t.p = nil
	if ms, ok := src.(int64); ok {
		at := fromMillis(ms)
		*t.p = &at
	}
	return nil
}

// optUUID scans an id that may be NULL.
type optUUID struct{ p **uuid.UUID }

// ScanBytes implements BytesScanner.
func (u optUUID) ScanBytes(b []byte) error {
	id, err := uuid.FromBytes(b)
	if err != nil {
		return err
	}
	*u.p = &id
	return nil
}

func (u optUUID) Scan(src any) error {
	*u.p = nil
	raw, ok := src.([]byte)
	if !ok {
		return nil
	}
	id, err := uuid.FromBytes(raw)
	if err != nil {
		return err
	}
	*u.p = &id
	return nil
}

// optInt scans a number; NULL is 0.
type optInt struct{ p *int64 }

// ScanNumber implements NumberScanner.
func (n optInt) ScanNumber(v int64) error {
	*n.p = v
	return nil
}

func (n optInt) Scan(src any) error {
	*n.p, _ = src.(int64)
	return nil
}

// hashCol scans a SHA-256; NULL is the zero hash.
type hashCol perdure.Hash

// ScanBytes implements BytesScanner.
func (h *hashCol) ScanBytes(b []byte) error {
	if len(b) != len(h) {
		return fmt.Errorf("a hash is stored in %d bytes", len(b))
	}
	copy(h[:], b)
	return nil
}

func (h *hashCol) Scan(src any) error {
	raw, _ := src.([]byte)
	if src != nil && len(raw) != len(h) {
		return fmt.Errorf("a hash is stored in %d bytes", len(raw))
	}
	*h = hashCol{}
	copy(h[:], raw)
	return nil
}

// text scans a string; NULL is "".
type text[T ~string] struct{ p *T }

// ScanBytes implements BytesScanner.
func (t text[T]) ScanBytes(b []byte) error {
	*t.p = T(b)
	return nil
}

func (t text[T]) Scan(src any) error {
	switch v := src.(type) {
	case nil:
		*t.p = ""
	case string:
		*t.p = T(v)
	case []byte:
		*t.p = T(v)
	default:
		return fmt.Errorf("a text is stored as %T", src)
	}
	return nil
}

// optString scans a string that may be NULL.
type optString[T ~string] struct{ p **T }

// ScanBytes implements BytesScanner.
func (t optString[T]) ScanBytes(b []byte) error {
	v := T(b)
	*t.p = &v
	return nil
}

func (t optString[T]) Scan(src any) error {
	*t.p = nil
	if v, ok := src.(string); ok {
		s := T(v)
		*t.p = &s
	}
	return nil
}

// raw scans bytes from TEXT or BLOB. An empty value differs from NULL. Scan may keep the bytes that
// it gets, because the driver passes copies.
type raw struct{ p *json.RawMessage }

// ScanBytes implements BytesScanner.
func (r raw) ScanBytes(b []byte) error {
	*r.p = append(json.RawMessage{}, b...)
	return nil
}

func (r raw) Scan(src any) error {
	switch v := src.(type) {
	case nil:
		*r.p = nil
	case string:
		*r.p = json.RawMessage(v)
	case []byte:
		*r.p = v
		if v == nil {
			*r.p = json.RawMessage{}
		}
	default:
		return fmt.Errorf("a content is stored as %T", src)
	}
	return nil
}

// decoded scans JSON into p. NULL leaves p unchanged.
type decoded struct{ p any }

// ScanBytes implements BytesScanner.
func (d decoded) ScanBytes(b []byte) error { return json.Unmarshal(b, d.p) }

func (d decoded) Scan(src any) error {
	switch v := src.(type) {
	case nil:
		return nil
	case string:
		return json.Unmarshal([]byte(v), d.p)
	case []byte:
		return json.Unmarshal(v, d.p)
	}
	return fmt.Errorf("JSON is stored as %T", src)
}

// flagCol scans 0 or 1.
type flagCol bool

// ScanNumber implements NumberScanner.
func (f *flagCol) ScanNumber(n int64) error {
	*f = n != 0
	return nil
}

func (f *flagCol) Scan(src any) error {
	n, _ := src.(int64)
	*f = n != 0
	return nil
}

// unsigned scans an unsigned 64-bit number that is stored as a signed one.
type unsigned uint64

// ScanNumber implements NumberScanner.
func (u *unsigned) ScanNumber(n int64) error {
	*u = unsigned(n)
	return nil
}

func (u *unsigned) Scan(src any) error {
	n, _ := src.(int64)
	*u = unsigned(n)
	return nil
}

// blobID scans the id of a blob into a reference; NULL is nil. The reference has no length and no
// hash until completeRef sets them.
type blobID struct{ p **perdure.BlobRef }

// ScanBytes implements BytesScanner.
func (b blobID) ScanBytes(raw []byte) error {
	id, err := uuid.FromBytes(raw)
	if err != nil {
		return err
	}
	*b.p = &perdure.BlobRef{ID: id}
	return nil
}

func (b blobID) Scan(src any) error {
	*b.p = nil
	raw, ok := src.([]byte)
	if !ok {
		return nil
	}
	return b.ScanBytes(raw)
}

// discard scans any value and drops it.
type discard struct{}

// ScanNumber implements NumberScanner.
func (discard) ScanNumber(int64) error { return nil }

// ScanBytes implements BytesScanner.
func (discard) ScanBytes([]byte) error { return nil }

func (discard) Scan(any) error { return nil }
