package perdure

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"github.com/google/uuid"
)

const (
	// InlineLimit is the most bytes of one payload that travel and rest inside
	// a message or a row; what is larger goes ahead as a blob.
	InlineLimit = 32 << 10
	// BlobChunk is the size of the pieces in which blobs travel and rest.
	BlobChunk = 64 << 10
	// ShownLimit is the most bytes of one content that clients are shown in
	// place; of what is larger they are told its length and hash.
	ShownLimit = 256 << 10
	// DefaultPayloadLimit is the most bytes that one payload may have unless
	// the operator says otherwise.
	DefaultPayloadLimit = 64 << 20
)

// Hash is a SHA-256.
type Hash [32]byte

func (h Hash) String() string { return hex.EncodeToString(h[:]) }

// MarshalText writes the hash in hexadecimal.
func (h Hash) MarshalText() ([]byte, error) { return []byte(h.String()), nil }

// UnmarshalText reads what MarshalText writes.
func (h *Hash) UnmarshalText(text []byte) error {
	raw, err := hex.DecodeString(string(text))
	if err != nil || len(raw) != len(h) {
		return FieldErrorf("sha256", "must be 64 hexadecimal digits")
	}
	copy(h[:], raw)
	return nil
}

// BlobRef names content that was uploaded ahead of the commit that uses it.
type BlobRef struct {
	ID     uuid.UUID `json:"id"`
	Length int64     `json:"length"`
	SHA256 Hash      `json:"sha256"`
}

// ContentID is the id of the blob that holds a content of a LOCAL execution, or
// stands for it while the content is withheld from the server. Worker and
// server derive the same.
func ContentID(execution uuid.UUID, content Hash) uuid.UUID {
	return uuid.NewSHA1(execution, []byte("content:"+content.String()))
}

// ContentRef is the reference of a content of a LOCAL execution.
func ContentRef(execution uuid.UUID, content []byte) BlobRef {
	sum := Hash(sha256.Sum256(content))
	return BlobRef{ID: ContentID(execution, sum), Length: int64(len(content)), SHA256: sum}
}

// OnWorker stands, in what clients are shown, for a content that is withheld.
// The members that end in Bytes and Sha256 beside it say which.
var OnWorker = json.RawMessage(`"worker"`)

// KeptByWorker is the message of an error of a LOCAL execution, on the server:
// what was said is content.
const KeptByWorker = "kept by the worker"

// Payload is content given in place or by reference; with neither it is absent.
type Payload struct {
	Bytes json.RawMessage `json:"bytes,omitempty"`
	Blob  *BlobRef        `json:"blob,omitempty"`
}

// Inline is a payload in place.
func Inline(content []byte) Payload { return Payload{Bytes: content} }

// IsZero reports whether there is no content.
func (p Payload) IsZero() bool { return p.Bytes == nil && p.Blob == nil }

// Size is the content's length in bytes.
func (p Payload) Size() int64 {
	if p.Blob != nil {
		return p.Blob.Length
	}
	return int64(len(p.Bytes))
}
