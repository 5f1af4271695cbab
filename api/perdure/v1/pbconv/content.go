package pbconv

import (
	"encoding/json"

	"github.com/perdure/perdure"
	perdurev1 "github.com/perdure/perdure/api/perdure/v1"
)

// ContentToProto returns a message with the bytes of a content, a reference to its blob, or both.
// It returns nil if both arguments are nil.
func ContentToProto(inline json.RawMessage, blob *perdure.BlobRef) *perdurev1.Content {
	if inline == nil && blob == nil {
		return nil
	}
	return &perdurev1.Content{Inline: inline, Blob: BlobToProto(blob)}
}

func (d *decoder) content(field string, m *perdurev1.Content) (json.RawMessage, *perdure.BlobRef) {
	if m == nil {
		return nil, nil
	}
	return raw(m.Inline), d.blob(field, m.GetBlob())
}

// PayloadToProto converts a payload to its message.
func PayloadToProto(p perdure.Payload) *perdurev1.Content { return ContentToProto(p.Bytes, p.Blob) }

// PayloadFromProto converts a payload from its message. Errors: invalid_argument.
func PayloadFromProto(m *perdurev1.Content) (perdure.Payload, error) {
	return decode(m, func(d *decoder, m *perdurev1.Content) perdure.Payload { return d.payload("payload", m) })
}

func (d *decoder) payload(field string, m *perdurev1.Content) perdure.Payload {
	inline, blob := d.content(field, m)
	return perdure.Payload{Bytes: inline, Blob: blob}
}

// BlobToProto converts a reference to a blob to its message; nil is converted to nil.
func BlobToProto(b *perdure.BlobRef) *perdurev1.BlobRef {
	if b == nil {
		return nil
	}
	return &perdurev1.BlobRef{Id: UUIDToProto(b.ID), Length: b.Length, Sha256: hashToProto(b.SHA256)}
}

// BlobFromProto converts a reference to a blob from its message; nil is converted to nil. Errors:
// invalid_argument.
func BlobFromProto(m *perdurev1.BlobRef) (*perdure.BlobRef, error) {
	return decode(m, func(d *decoder, m *perdurev1.BlobRef) *perdure.BlobRef { return d.blob("blob", m) })
}

func (d *decoder) blob(field string, m *perdurev1.BlobRef) *perdure.BlobRef {
	if m == nil {
		return nil
	}
	return &perdure.BlobRef{
		ID:     d.id(field+".blob.id", m.GetId()),
		Length: m.GetLength(),
		SHA256: d.hash(field+".blob.sha256", m.GetSha256()),
	}
}
