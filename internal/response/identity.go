package response

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
)

// Identity names a response: all ids that are made for it follow from this.
type Identity struct {
	Execution [16]byte // its id
	Response  string   // resp_...
}

// The prefixes of the ids that are made, by what they name.
const (
	PrefixMessage   = "msg_"
	PrefixCall      = "fc_"
	PrefixReasoning = "rs_"
	PrefixOutput    = "fco_"
	PrefixOther     = "item_"
)

// ID makes the id of the item with that ordinal: the prefix and 128 bits in
// hex, the same whenever the response is played again. Ordinals of the items of
// one response differ.
func (i Identity) ID(prefix string, ordinal int) string { return i.again(prefix, ordinal, 0) }

// again is ID for an ordinal whose id is taken; try counts from 0.
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

// placeholder is what some client libraries give as the id of whatever has
// none.
const placeholder = "__fake_id__"

// IsPlaceholder reports whether id stands for a missing one. Such an id names
// many things at once, so that it is never stored and never shown.
func IsPlaceholder(id string) bool { return id == placeholder }

// Real returns the id, or "" in place of a placeholder.
func Real(id string) string {
	if IsPlaceholder(id) {
		return ""
	}
	return id
}
