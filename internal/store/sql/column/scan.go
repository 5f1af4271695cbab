package column

import (
	"encoding/json"
	"fmt"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// NumberScanner is a destination for a number. A store that knows that a value is a number calls
// ScanNumber, which avoids an interface allocation. For NULL, it calls the destination's method
// Scan.
type NumberScanner interface {
	ScanNumber(n int64) error
}

// BytesScanner is a destination for a text or bytes. The argument is valid only until ScanBytes
// returns. For NULL, the store calls the destination's method Scan.
type BytesScanner interface {
	ScanBytes(b []byte) error
}

// TimeInto returns a destination for a time.
func TimeInto(p *perdure.Time) *timeScan { return (*timeScan)(p) }

type timeScan perdure.Time

// ScanNumber implements NumberScanner.
func (t *timeScan) ScanNumber(ms int64) error {
	*t = timeScan(FromMillis(ms))
	return nil
}

func (t *timeScan) Scan(src any) error {
	ms, ok := src.(int64)
	if !ok && src != nil {
		return fmt.Errorf("a time is stored as %T", src)
	}
	*t = timeScan(FromMillis(ms))
	return nil
}

// OptTimeInto returns a destination for a time that may be NULL.
func OptTimeInto(p **perdure.Time) optTimeScan { return optTimeScan{p} }

type optTimeScan struct{ p **perdure.Time }

// ScanNumber implements NumberScanner.
func (t optTimeScan) ScanNumber(ms int64) error {
	at := FromMillis(ms)
	*t.p = &at
	return nil
}

func (t optTimeScan) Scan(src any) error {
	*t.p = nil
	if ms, ok := src.(int64); ok {
		at := FromMillis(ms)
		*t.p = &at
	}
	return nil
}

// OptIDInto returns a destination for an id that may be NULL.
func OptIDInto(p **uuid.UUID) optIDScan { return optIDScan{p} }

type optIDScan struct{ p **uuid.UUID }

// ScanBytes implements BytesScanner.
func (u optIDScan) ScanBytes(b []byte) error {
	id, err := uuid.FromBytes(b)
	if err != nil {
		return err
	}
	*u.p = &id
	return nil
}

func (u optIDScan) Scan(src any) error {
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

// OptNumberInto returns a destination for a number; NULL is 0.
func OptNumberInto(p *int64) optNumberScan { return optNumberScan{p} }

type optNumberScan struct{ p *int64 }

// ScanNumber implements NumberScanner.
func (n optNumberScan) ScanNumber(v int64) error {
	*n.p = v
	return nil
}

func (n optNumberScan) Scan(src any) error {
	*n.p, _ = src.(int64)
	return nil
}

// HashInto returns a destination for a SHA-256; NULL is the zero hash.
func HashInto(p *perdure.Hash) *hashScan { return (*hashScan)(p) }

type hashScan perdure.Hash

// ScanBytes implements BytesScanner.
func (h *hashScan) ScanBytes(b []byte) error {
	if len(b) != len(h) {
		return fmt.Errorf("a hash is stored in %d bytes", len(b))
	}
	copy(h[:], b)
	return nil
}

func (h *hashScan) Scan(src any) error {
	raw, _ := src.([]byte)
	if src != nil && len(raw) != len(h) {
		return fmt.Errorf("a hash is stored in %d bytes", len(raw))
	}
	*h = hashScan{}
	copy(h[:], raw)
	return nil
}

// TextInto returns a destination for a string; NULL is "".
func TextInto[T ~string](p *T) textScan[T] { return textScan[T]{p} }

type textScan[T ~string] struct{ p *T }

// ScanBytes implements BytesScanner.
func (t textScan[T]) ScanBytes(b []byte) error {
	*t.p = T(b)
	return nil
}

func (t textScan[T]) Scan(src any) error {
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

// OptTextInto returns a destination for a string that may be NULL.
func OptTextInto[T ~string](p **T) optTextScan[T] { return optTextScan[T]{p} }

type optTextScan[T ~string] struct{ p **T }

// ScanBytes implements BytesScanner.
func (t optTextScan[T]) ScanBytes(b []byte) error {
	v := T(b)
	*t.p = &v
	return nil
}

func (t optTextScan[T]) Scan(src any) error {
	*t.p = nil
	if v, ok := src.(string); ok {
		s := T(v)
		*t.p = &s
	}
	return nil
}

// RawInto returns a destination for bytes from TEXT or BLOB. NULL becomes nil, and an empty value an
// empty slice.
func RawInto(p *json.RawMessage) rawScan { return rawScan{p} }

// rawScan is the destination that RawInto returns. Its method Scan may keep the bytes of its
// argument, because the driver passes a copy.
type rawScan struct{ p *json.RawMessage }

// ScanBytes implements BytesScanner.
func (r rawScan) ScanBytes(b []byte) error {
	*r.p = append(json.RawMessage{}, b...)
	return nil
}

func (r rawScan) Scan(src any) error {
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

// JSONInto returns a destination for JSON, which is decoded into p. NULL leaves p unchanged.
func JSONInto(p any) jsonScan { return jsonScan{p} }

type jsonScan struct{ p any }

// ScanBytes implements BytesScanner.
func (d jsonScan) ScanBytes(b []byte) error { return json.Unmarshal(b, d.p) }

func (d jsonScan) Scan(src any) error {
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

// FlagInto returns a destination for 0 or 1.
func FlagInto(p *bool) *flagScan { return (*flagScan)(p) }

type flagScan bool

// ScanNumber implements NumberScanner.
func (f *flagScan) ScanNumber(n int64) error {
	*f = n != 0
	return nil
}

func (f *flagScan) Scan(src any) error {
	n, _ := src.(int64)
	*f = n != 0
	return nil
}

// UnsignedInto returns a destination for an unsigned 64-bit number that is stored as a signed one.
func UnsignedInto(p *uint64) *unsignedScan { return (*unsignedScan)(p) }

type unsignedScan uint64

// ScanNumber implements NumberScanner.
func (u *unsignedScan) ScanNumber(n int64) error {
	*u = unsignedScan(n)
	return nil
}

func (u *unsignedScan) Scan(src any) error {
	n, _ := src.(int64)
	*u = unsignedScan(n)
	return nil
}

// BlobInto returns a destination for the id of a blob; NULL becomes nil. The reference has no length
// and no hash until CompleteRef loads them.
func BlobInto(p **perdure.BlobRef) blobScanner { return blobScanner{p} }

type blobScanner struct{ p **perdure.BlobRef }

// ScanBytes implements BytesScanner.
func (b blobScanner) ScanBytes(raw []byte) error {
	id, err := uuid.FromBytes(raw)
	if err != nil {
		return err
	}
	*b.p = &perdure.BlobRef{ID: id}
	return nil
}

func (b blobScanner) Scan(src any) error {
	*b.p = nil
	raw, ok := src.([]byte)
	if !ok {
		return nil
	}
	return b.ScanBytes(raw)
}

// Nowhere is a destination that drops the value.
var Nowhere discard

type discard struct{}

// ScanNumber implements NumberScanner.
func (discard) ScanNumber(int64) error { return nil }

// ScanBytes implements BytesScanner.
func (discard) ScanBytes([]byte) error { return nil }

func (discard) Scan(any) error { return nil }
