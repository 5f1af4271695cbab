package response

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
)

// Identity identifies a response. All ids that are created for the response are derived from it.
type Identity struct {
	Execution [16]byte // the execution's id
	Response  string   // resp_...
}

// These are the prefixes of the ids that this package creates.
const (
	PrefixMessage   = "msg_"
	PrefixCall      = "fc_"
	PrefixReasoning = "rs_"
	PrefixOutput    = "fco_"
	PrefixOther     = "item_"
)

// ID returns the id of the response's item with that ordinal: the prefix and 128 bits in
// hexadecimal. A replay of the response returns the same id. Items of one response have different
// ordinals.
func (i Identity) ID(prefix string, ordinal int) string { return i.again(prefix, ordinal, 0) }

// again returns another id of the item with that ordinal, for the case that the result of ID is
// already in use. The parameter try counts the attempts from 0.
func (i Identity) again(prefix string, ordinal, try int) string {
	sum := sha256.New()
	sum.Write(i.Execution[:])
	sum.Write([]byte(i.Response))
	sum.Write(binary.BigEndian.AppendUint64([]byte{0}, uint64(ordinal)))
	if try > 0 {
		sum.Write(binary.BigEndian.AppendUint64(nil, uint64(try)))
	}
	return prefix + hex.EncodeToString(sum.Sum(nil)[:16])
}

// placeholder is the id that some client libraries use for items without an id.
const placeholder = "__fake_id__"

// IsPlaceholder reports whether id is a placeholder for a missing id. Many items can have the same
// placeholder, so it is never stored or shown.
func IsPlaceholder(id string) bool { return id == placeholder }

// Real returns the id, or "" if it is a placeholder.
func Real(id string) string {
	if IsPlaceholder(id) {
		return ""
	}
	return id
}
