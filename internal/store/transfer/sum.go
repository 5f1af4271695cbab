package transfer

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
)

// sum is a hash of a set of rows. It is the sum of the hashes of the rows, so it does not depend on
// the order of the rows.
type sum struct {
	rows  int64
	parts [4]uint64
}

// add adds a row to the set. The hashed bytes include the type and the length of each value, so
// that two different rows never have the same bytes.
func (s *sum) add(row []any) {
	h := sha256.New()
	for _, v := range row {
		var head [9]byte
		var content []byte
		switch v := v.(type) {
		case nil:
			head[0] = '0'
		case int64:
			head[0] = 'n'
			binary.BigEndian.PutUint64(head[1:], uint64(v))
		case string:
			head[0], content = 't', []byte(v)
			binary.BigEndian.PutUint64(head[1:], uint64(len(v)))
		case []byte:
			head[0], content = 'b', v
			binary.BigEndian.PutUint64(head[1:], uint64(len(v)))
		default:
			head[0], content = '?', fmt.Appendf(nil, "%T %v", v, v)
		}
		h.Write(head[:]) // never fails
		h.Write(content)
	}
	s.rows++
	digest := h.Sum(nil)
	for i := range s.parts {
		s.parts[i] += binary.BigEndian.Uint64(digest[8*i:])
	}
}

func (s sum) String() string { return fmt.Sprintf("%016x", s.parts[0]) }
