package durablestream

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"

	"github.com/perdure/perdure/internal/store"
)

// An offset of a general stream (one that clients write) is a mark in 16 hexadecimal digits and a
// position in 20 decimal digits. All offsets of a stream have one length, and sort as their
// positions. The mark is derived from the stream's id and the store's epoch. The mark shows whether
// an offset belongs to a deleted stream, or to the store before a restore.

const offsetDigits = 20

// mark returns the first 16 digits of each offset of a stream. These digits identify the stream and
// the store's epoch.
func mark(epoch uint64, s *store.Stream) string {
	h := sha256.New()
	h.Write(binary.BigEndian.AppendUint64(nil, epoch))
	h.Write(s.ID[:])
	return fmt.Sprintf("%x", h.Sum(nil)[:8])
}

func (s *Streams) offset(x *store.Stream, at int64) string {
	return fmt.Sprintf("%s_%0*d", mark(s.store.Epoch(), x), offsetDigits, at)
}

// parseOffset parses an offset of the stream. Errors: bad_offset; gone if the offset belongs to
// another stream or store.
func (s *Streams) parseOffset(x *store.Stream, offset string) (int64, error) {
	given, digits, ok := strings.Cut(offset, "_")
	at, err := strconv.ParseInt(digits, 10, 64)
	if !ok || err != nil || at < 0 || len(digits) != offsetDigits || len(given) != 16 || strings.Trim(given, "0123456789abcdef") != "" {
		return 0, BadOffset()
	}
	if given != mark(s.store.Epoch(), x) {
		return 0, Gone("the offset is of a stream that was deleted, or of the store before it was restored")
	}
	if at > x.Tail {
		return 0, BadOffset()
	}
	return at, nil
}
