package response

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"

	"github.com/perdure/perdure"
)

// IDRule defines the ids of tool calls that a provider accepts. An id has Min to Max bytes; if Max
// is 0, its length is not limited. It consists of ASCII letters, digits and, if Alphanumeric is
// false, "_" and "-".
type IDRule struct {
	Min, Max     int
	Alphanumeric bool
	// Verbatim reports that the provider accepts an id that it has created itself, even if the id
	// breaks the rule. The length of such an id is at most mostVerbatim.
	Verbatim bool
}

// mostVerbatim is the maximum length in bytes of an id that is sent back to its provider unchanged.
const mostVerbatim = 256

// takesBack reports whether the provider accepts an id that it has created itself.
func (r IDRule) takesBack(id string) bool {
	return r.Valid(id) || r.Verbatim && id != "" && len(id) <= mostVerbatim
}

// Valid reports whether id satisfies the rule.
func (r IDRule) Valid(id string) bool {
	if len(id) < r.Min || r.Max > 0 && len(id) > r.Max {
		return false
	}
	for _, c := range []byte(id) {
		letter := 'a' <= c|0x20 && c|0x20 <= 'z'
		digit := '0' <= c && c <= '9'
		mark := !r.Alphanumeric && (c == '_' || c == '-')
		if !letter && !digit && !mark {
			return false
		}
	}
	return true
}

// derive returns a valid id that is made from a hash of the id. If the result is already in use,
// the caller increases `try`, which changes the hash.
func (r IDRule) derive(id string, try int) string {
	sum := sha256.Sum256([]byte(id + "\x00" + strconv.Itoa(try)))
	made := "call_" + hex.EncodeToString(sum[:])[:32]
	if r.Alphanumeric {
		made = hex.EncodeToString(sum[:])
	}
	if r.Max > 0 && len(made) > r.Max {
		made = made[:r.Max]
	}
	return made
}

// ToolIDs returns the ids that tool calls and their results have in requests to a provider. The
// keys of the map are Perdure's ids. A call that came from this provider keeps the provider's id.
// Any other call has Perdure's id, or an id derived from it if Perdure's id is invalid or an earlier
// call has it. An id depends only on earlier calls. It is therefore the same in each turn, and the
// provider's prompt cache can be used.
func ToolIDs(messages []perdure.Message, provider string, rule IDRule) map[string]string {
	ids, taken := map[string]string{}, map[string]bool{}
	for _, m := range messages {
		for _, call := range m.ToolCalls() {
			if _, known := ids[call.ID]; known {
				continue
			}
			id := outwardID(call, m.Provider == provider, rule, taken)
			ids[call.ID], taken[id] = id, true
		}
	}
	return ids
}

func outwardID(call perdure.Part, own bool, rule IDRule, taken map[string]bool) string {
	if own && rule.takesBack(call.ProviderID) && !taken[call.ProviderID] {
		return call.ProviderID
	}
	if rule.Valid(call.ID) && !taken[call.ID] {
		return call.ID
	}
	for try := 0; ; try++ {
		if id := rule.derive(call.ID, try); !taken[id] {
			return id
		}
	}
}
