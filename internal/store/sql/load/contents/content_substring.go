package contents

import (
	"encoding/binary"
	"encoding/json"

	"github.com/google/uuid"
	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/internal/store/sql/statement"
)

// Named is a content that contains a substring of the entry with the number Entry. The stored form
// of a Named begins with four varints: the entry's number, the offset and the length of the
// substring in the entry, and the length of the bytes before the substring. Then come the bytes
// before and after the substring.
type Named struct {
	Entry int64
	store.Stretch
}

// Encode returns the stored form of a Named.
func (n Named) Encode() []byte {
	var raw []byte
	for _, number := range []int64{n.Entry, n.At, n.Length, int64(len(n.Before))} {
		raw = binary.AppendUvarint(raw, uint64(number))
	}
	return append(append(raw, n.Before...), n.After...)
}

// ParseNamed parses the form that Encode returns.
func ParseNamed(raw []byte) (n Named, err error) {
	var before int64
	for _, number := range []*int64{&n.Entry, &n.At, &n.Length, &before} {
		value, size := binary.Uvarint(raw)
		if size <= 0 {
			return n, ErrNamed
		}
		*number, raw = int64(value), raw[size:]
	}
	if before < 0 || before > int64(len(raw)) {
		return n, ErrNamed
	}
	n.Before, n.After = raw[:before], raw[before:]
	return n, nil
}

var namedByBlob = statement.Read("SELECT content_of FROM blob WHERE agent_execution_id = ? AND id = ?")

// Compose returns the content whose stored form is `raw`. It reads the entry to which the content
// refers.
func Compose(v statement.View, execution uuid.UUID, raw []byte) (json.RawMessage, error) {
	n, err := ParseNamed(raw)
	if err != nil {
		return nil, err
	}
	content, err := contentOfEntry(v, execution, n.Entry)
	if err != nil {
		return nil, err
	}
	return n.Of(content)
}

// composedBlob returns the content of a blob that refers to an entry; nil for any other blob.
func composedBlob(v statement.View, execution, id uuid.UUID) (json.RawMessage, error) {
	var raw []byte
	found, err := v.One(namedByBlob, []any{execution[:], id[:]}, &raw)
	if err != nil || !found || raw == nil {
		return nil, err
	}
	return Compose(v, execution, raw)
}
