package schema

import (
	"encoding/json"
	"maps"
	"math/big"
	"slices"
	"strconv"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// uniqueItems is the keyword of that name. The library compares items whose hashes
// are equal, and a client can choose lists whose hashes all are. Here each item has a
// key that only equal items share, so the cost is that of reading them.
type uniqueItems struct{}

// Validate implements jsonschema.SchemaExt.
func (uniqueItems) Validate(ctx *jsonschema.ValidatorContext, value any) {
	items, ok := value.([]any)
	if !ok {
		return
	}
	at := make(map[string]int, len(items))
	for i, item := range items {
		key := string(appendKey(nil, item))
		if before, ok := at[key]; ok {
			ctx.AddError(&kind.UniqueItems{Duplicates: [2]int{before, i}})
			return
		}
		at[key] = i
	}
}

// appendKey appends a text that two values share if and only if they are equal:
// members in the order of their names, numbers as fractions, and the length before
// what has no end of its own.
func appendKey(to []byte, value any) []byte {
	switch v := value.(type) {
	case map[string]any:
		to = appendCount(to, '{', len(v))
		for _, name := range slices.Sorted(maps.Keys(v)) {
			to = appendKey(appendKey(to, name), v[name])
		}
		return to
	case []any:
		to = appendCount(to, '[', len(v))
		for _, item := range v {
			to = appendKey(to, item)
		}
		return to
	case string:
		return append(appendCount(to, '"', len(v)), v...)
	case json.Number:
		return appendNumber(to, v)
	case bool:
		return strconv.AppendBool(to, v)
	}
	return append(to, 'n')
}

func appendCount(to []byte, kind byte, n int) []byte {
	return append(strconv.AppendInt(append(to, kind), int64(n), 10), ':')
}

func appendNumber(to []byte, n json.Number) []byte {
	text := n.String()
	if exact, ok := new(big.Rat).SetString(text); ok {
		text = exact.RatString()
	}
	return append(appendCount(to, '#', len(text)), text...)
}
