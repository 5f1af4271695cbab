package openaiapi

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/google/uuid"
)

// itemID is the id of a response's nth item. It follows from where the item is,
// so that a response that is read again has the same.
func itemID(prefix string, execution uuid.UUID, response string, ordinal int) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %s %d", execution, response, ordinal))
	return prefix + hex.EncodeToString(sum[:16])
}

// The prefixes of the ids of items.
const (
	messagePrefix   = "msg_"
	callPrefix      = "fc_"
	outputPrefix    = "fco_"
	reasoningPrefix = "rs_"
)

func requestID() string { return "req_" + uuid.NewString() }
