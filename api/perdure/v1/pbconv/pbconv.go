// Package pbconv converts between the types of package perdure and their proto messages. Server and
// worker share it, so each field is written in one place and read in one place.
//
// The conversion of a message with an invalid value, such as an id of 15 bytes, fails with
// invalid_argument, and the error names the field. Messages do not distinguish a nil list from an
// empty list; both are read as nil. Messages omit Embedded, the flag of a worker inside the
// server's process: the server sets it according to the key of the worker.
package pbconv

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// decoder stores the first error of a conversion. A conversion can then be written as one
// composite literal, without an error check for each field.
type decoder struct{ err error }

func (d *decoder) fail(field, format string, args ...any) {
	if d.err == nil {
		d.err = perdure.FieldErrorf(field, format, args...)
	}
}

// decode runs the function `convert` on m. If the conversion fails, decode returns the zero value
// and the first error.
func decode[P, D any](m P, convert func(*decoder, P) D) (D, error) {
	var d decoder
	v := convert(&d, m)
	if d.err != nil {
		var zero D
		return zero, d.err
	}
	return v, nil
}

func each[A, B any](list []A, convert func(A) B) []B {
	if len(list) == 0 {
		return nil
	}
	out := make([]B, len(list))
	for i, v := range list {
		out[i] = convert(v)
	}
	return out
}

// UUIDToProto returns the 16 bytes of id, or nil for the nil UUID.
func UUIDToProto(id uuid.UUID) []byte {
	if id == uuid.Nil {
		return nil
	}
	return id[:]
}

// UUIDFromProto returns the UUID with the 16 bytes of raw, or the nil UUID if raw is empty. For any
// other length the error is invalid_argument and names the field.
func UUIDFromProto(field string, raw []byte) (uuid.UUID, error) {
	return decode(raw, func(d *decoder, raw []byte) uuid.UUID { return d.id(field, raw) })
}

func (d *decoder) id(field string, raw []byte) uuid.UUID {
	if len(raw) == 0 {
		return uuid.Nil
	}
	id, err := uuid.FromBytes(raw)
	if err != nil {
		d.fail(field, "must be the 16 bytes of a UUID, not %d bytes", len(raw))
	}
	return id
}

func idPtrToProto(id *uuid.UUID) []byte {
	if id == nil {
		return nil
	}
	return id[:]
}

func (d *decoder) idPtr(field string, raw []byte) *uuid.UUID {
	if raw == nil {
		return nil
	}
	id := d.id(field, raw)
	return &id
}

func (d *decoder) ids(field string, list [][]byte) []uuid.UUID {
	return each(list, func(raw []byte) uuid.UUID { return d.id(field, raw) })
}

func hashToProto(h perdure.Hash) []byte {
	if h == (perdure.Hash{}) {
		return nil
	}
	return h[:]
}

func (d *decoder) hash(field string, raw []byte) (h perdure.Hash) {
	if len(raw) != 0 && len(raw) != len(h) {
		d.fail(field, "must be the 32 bytes of a SHA-256, not %d bytes", len(raw))
		return h
	}
	copy(h[:], raw)
	return h
}

func timeToProto(t perdure.Time) *timestamppb.Timestamp {
	if t.IsZero() {
		return nil
	}
	return timestamppb.New(t.Time)
}

func (d *decoder) time(field string, m *timestamppb.Timestamp) perdure.Time {
	if m == nil {
		return perdure.Time{}
	}
	if err := m.CheckValid(); err != nil {
		d.fail(field, "is no valid time")
		return perdure.Time{}
	}
	return perdure.At(m.AsTime())
}

func timePtrToProto(t *perdure.Time) *timestamppb.Timestamp {
	if t == nil {
		return nil
	}
	return timestamppb.New(t.Time)
}

func (d *decoder) timePtr(field string, m *timestamppb.Timestamp) *perdure.Time {
	if m == nil {
		return nil
	}
	t := d.time(field, m)
	return &t
}

func durationToProto(v time.Duration) *durationpb.Duration {
	if v == 0 {
		return nil
	}
	return durationpb.New(v)
}

func (d *decoder) duration(field string, m *durationpb.Duration) time.Duration {
	if m == nil {
		return 0
	}
	if err := m.CheckValid(); err != nil {
		d.fail(field, "is no valid duration")
		return 0
	}
	return m.AsDuration()
}

func intPtrToProto(v *int) *int64 {
	if v == nil {
		return nil
	}
	wide := int64(*v)
	return &wide
}

func intPtr(v *int64) *int {
	if v == nil {
		return nil
	}
	narrow := int(*v)
	return &narrow
}

// text returns s with U+FFFD in place of invalid UTF-8. A proto string with invalid UTF-8 would
// make the encoding of the whole message fail.
func text(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

// raw returns b as JSON without copying it, because a decoded message owns its bytes; nil is returned
// as nil.
func raw(b []byte) json.RawMessage {
	if b == nil {
		return nil
	}
	return json.RawMessage(b)
}
