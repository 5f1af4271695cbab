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

// ID returns the id of an item of the response: the prefix and 128 bits in hexadecimal. The ordinal
// is the number of the item in the response. If the response is replayed, the ids are the same.
func (i Identity) ID(prefix string, ordinal int) string { return i.again(prefix, ordinal, 0) }

// again returns another id of the item with the ordinal, because the result of ID is already in
// use. `try` counts the attempts to find an unused id, from 0.
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

// IsPlaceholder reports whether an id is a placeholder for a missing id. Because many items can
// have the same placeholder, it is never stored or shown.
func IsPlaceholder(id string) bool { return id == placeholder }

// Real returns the id, or "" if it is a placeholder.
func Real(id string) string {
	if IsPlaceholder(id) {
		return ""
	}
	return id
}
