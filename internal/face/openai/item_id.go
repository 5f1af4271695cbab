package openai

import (
	"strconv"
	"strings"
)

// prefixToolCall is the prefix of the ids of calls of tools that workers run.
const prefixToolCall = "mcp_"

// prefixCompaction is the prefix of the ids of compactions.
const prefixCompaction = "cmp_"

// side identifies one of a response's lists of items, such as its input or its output.
type side byte

const (
	sideInput  side = 'i'
	sideOutput side = 'o'
	// sidePending is the list of items that were added to a conversation while they were pending,
	// before the response began.
	sidePending side = 'p'
)

const responsePrefix = "resp_"

// itemID returns the id of an item, by which the server can find the item. It consists of the
// prefix of the item's type, the id of the response without its prefix, the letter of the list in
// the response (the parameter `of`), and the item's index in this list.
func itemID(prefix, response string, of side, index int) string {
	return prefix + strings.TrimPrefix(response, responsePrefix) + string(of) + strconv.Itoa(index)
}

// itemPlace contains the parts of an item's id: prefix, response, side and index.
type itemPlace struct {
	prefix, response string
	side             side
	index            int
}

// placeOf parses the id of an item. It returns false if the id is malformed.
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
