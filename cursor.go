package perdure

import (
	"encoding/base64"
	"encoding/binary"
	"hash/fnv"
)

// Cursor is a reader's position in a log. It holds the log's epoch, and the pos and the nonce of
// the last record that the reader has. The zero cursor is the start.
type Cursor struct {
	Epoch uint64
	Pos   int64
	// Nonce is the nonce of the record at Pos; see [Record]. It is 0 at the start of a log, and for
	// records that were written before nonces were introduced.
	Nonce uint32
	// Nonceless marks a cursor of an old form, which has no nonce. Such a cursor matches no log.
	Nonceless bool
}

// EpochOf returns the epoch of a log. It is a hash of the epochs of the execution and of the store. A
// restore or a failover changes one of the two, so that earlier cursors do not match the log.
func EpochOf(execution, store uint64) uint64 {
	h := fnv.New64a()
	var raw [16]byte
	binary.BigEndian.PutUint64(raw[:8], execution)
	binary.BigEndian.PutUint64(raw[8:], store)
	h.Write(raw[:])
	return h.Sum64()
}

// String returns the cursor in the form that clients hold. It is opaque, and safe in headers and
// URLs.
func (c Cursor) String() string {
	raw := make([]byte, 0, 8+binary.MaxVarintLen64+nonceBytes)
	raw = binary.BigEndian.AppendUint64(raw, c.Epoch)
	raw = binary.AppendUvarint(raw, uint64(c.Pos))
	if !c.Nonceless {
		raw = binary.BigEndian.AppendUint32(raw, c.Nonce)
	}
	return base64.RawURLEncoding.EncodeToString(raw)
}

// nonceBytes is the length of a nonce in a cursor.
const nonceBytes = 4

// ParseCursor parses the output of String; "" is the start. Errors: invalid_argument.
func ParseCursor(s string) (Cursor, error) {
	if s == "" {
		return Cursor{}, nil
	}
	raw, err := base64.RawURLEncoding.DecodeString(s)
	if err != nil || len(raw) < 9 {
		return Cursor{}, badCursor()
	}
	pos, n := binary.Uvarint(raw[8:])
	if n <= 0 || pos > 1<<62 {
		return Cursor{}, badCursor()
	}
	c := Cursor{Epoch: binary.BigEndian.Uint64(raw), Pos: int64(pos)}
	switch nonce := raw[8+n:]; len(nonce) {
	case 0:
		c.Nonceless = true
	case nonceBytes:
		c.Nonce = binary.BigEndian.Uint32(nonce)
	default:
		return Cursor{}, badCursor()
	}
	if c.String() != s {
		return Cursor{}, badCursor()
	}
	return c, nil
}

func badCursor() error {
	return FieldErrorf("cursor", "is not a cursor of this server; leave it out to read from the start")
}
