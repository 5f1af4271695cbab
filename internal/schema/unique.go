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

// uniqueItems implements the keyword uniqueItems. The library compares all items with equal hashes,
// and a client can choose items whose hashes are all equal. Here each item is looked up by a key
// that is unique to its value, so the cost is linear in the size of the items.
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

// appendKey appends the key of a value: a text that is the same for equal values only. Members are
// sorted by name, and numbers are written as fractions. Texts, arrays and objects begin with their
// length, because they have no end mark.
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
