package openaiapi

import (
	"strconv"
	"strings"
)

// prefixToolCall begins the ids of calls of tools that run at Perdure.
const prefixToolCall = "mcp_"

// side says to which list of a response an item belongs.
type side byte

const (
	sideInput  side = 'i'
	sideOutput side = 'o'
	// sidePending are items that were added to a conversation before the response.
	sidePending side = 'p'
)

const responsePrefix = "resp_"

// itemID returns the id of an item: the prefix of its type, what the response's id
// has after its own, and where in the response the item is. So an item is found
// by its id alone, and keeps it whenever the response is read again.
func itemID(prefix, response string, of side, index int) string {
	return prefix + strings.TrimPrefix(response, responsePrefix) + string(of) + strconv.Itoa(index)
}

// itemPlace is where an item is.
type itemPlace struct {
	prefix, response string
	side             side
	index            int
}

// placeOf reads the id of an item.
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
