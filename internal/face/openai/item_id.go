package openai

import (
	"strconv"
	"strings"
)

// prefixToolCall is the id prefix of calls of tools that run at Perdure.
const prefixToolCall = "mcp_"

// prefixCompaction is the id prefix of compactions.
const prefixCompaction = "cmp_"

// side identifies the list of a response that an item belongs to.
type side byte

const (
	sideInput  side = 'i'
	sideOutput side = 'o'
	// sidePending are items that were added to a conversation before the response.
	sidePending side = 'p'
)

const responsePrefix = "resp_"

// itemID returns the id of an item: the prefix of its type, the response's id without its prefix,
// and the place in the response. An item is therefore found by its id alone, and its id never
// changes.
func itemID(prefix, response string, of side, index int) string {
	return prefix + strings.TrimPrefix(response, responsePrefix) + string(of) + strconv.Itoa(index)
}

// itemPlace locates an item by the parts of its id: prefix, response, side and index.
type itemPlace struct {
	prefix, response string
	side             side
	index            int
}

// placeOf parses the id of an item.
func placeOf(id string) (itemPlace, bool) {
	prefix, rest, found := strings.Cut(id, "_")
	at := strings.LastIndexAny(rest, "iop")
	if !found || at < 0 {
		return itemPlace{}, false
	}
	index, err := strconv.Atoi(rest[at+1:])
	p := itemPlace{prefix + "_", responsePrefix + rest[:at], side(rest[at]), index}
	return p, err == nil && index >= 0 && itemID(p.prefix, p.response, p.side, p.index) == id
}
