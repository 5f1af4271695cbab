package perdure

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"github.com/google/uuid"
)

const (
	// InlineLimit is the maximum size in bytes of a payload that is part of a gRPC message or of a
	// database row. A larger payload is uploaded first, as a blob.
	InlineLimit = 32 << 10
	// BlobChunk is the size in bytes of the chunks in which blobs are sent and stored.
	BlobChunk = 64 << 10
	// ShownLimit is the maximum size in bytes of a content that clients receive in a response. Of a
	// larger content they receive only the length and the hash.
	ShownLimit = 256 << 10
	// DefaultPayloadLimit is the maximum size in bytes of a payload, unless the operator configures
	// another limit.
	DefaultPayloadLimit = 64 << 20
)

// Hash is a SHA-256 hash.
type Hash [32]byte

func (h Hash) String() string { return hex.EncodeToString(h[:]) }

// MarshalText returns the hash in hexadecimal.
func (h Hash) MarshalText() ([]byte, error) { return []byte(h.String()), nil }

// UnmarshalText parses the output of MarshalText.
func (h *Hash) UnmarshalText(text []byte) error {
	raw, err := hex.DecodeString(string(text))
	if err != nil || len(raw) != len(h) {
		return FieldErrorf("sha256", "must be 64 hexadecimal digits")
	}
	copy(h[:], raw)
	return nil
}

// BlobRef refers to content that was uploaded before the commit that uses it.
type BlobRef struct {
	ID     uuid.UUID `json:"id"`
	Length int64     `json:"length"`
	SHA256 Hash      `json:"sha256"`
}

// ContentID returns the id of the blob for a content of a LOCAL execution. Worker and server derive
// the same id, even while only the worker has the content.
func ContentID(execution uuid.UUID, content Hash) uuid.UUID {
	return uuid.NewSHA1(execution, []byte("content:"+content.String()))
}

// ContentRef returns the reference to a content of a LOCAL execution.
func ContentRef(execution uuid.UUID, content []byte) BlobRef {
	sum := Hash(sha256.Sum256(content))
	return BlobRef{ID: ContentID(execution, sum), Length: int64(len(content)), SHA256: sum}
}

// OnWorker is the JSON value that clients receive in place of a content that only the worker of a
// LOCAL execution has. In the same response, the members whose names end in Bytes and Sha256
// contain the length and the hash of the content.
var OnWorker = json.RawMessage(`"worker"`)

// KeptByWorker is the error message that the server stores for a LOCAL execution in place of the
// actual message, which the server does not receive.
const KeptByWorker = "kept by the worker"

// Payload is a content. It is in Bytes or in the blob to which Blob refers. If neither is set,
// there is no content.
type Payload struct {
	Bytes json.RawMessage `json:"bytes,omitempty"`
	Blob  *BlobRef        `json:"blob,omitempty"`
}

// Inline returns a payload with inline content.
func Inline(content []byte) Payload { return Payload{Bytes: content} }

// IsZero reports whether there is no content.
func (p Payload) IsZero() bool { return p.Bytes == nil && p.Blob == nil }

// Size returns the content's length in bytes.
func (p Payload) Size() int64 {
	if p.Blob != nil {
		return p.Blob.Length
	}
	return int64(len(p.Bytes))
}
