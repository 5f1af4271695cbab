package operation

// described is the depth of nesting up to which schemas describe the values of a body. Deeper
// values are data of the client without a schema.
const described = 32

// shallow returns a JSON text in which null replaces all arrays and objects that are nested deeper
// than `described`. These arrays and objects need no validation, and decoding them could cost
// hundreds of times their size in memory. The parameter `raw` must be valid JSON.
func shallow(raw []byte) []byte {
	var c jsonTrimmer
	for i := 0; i < len(raw); i++ {
		switch raw[i] {
		case '"':
			i = endOfText(raw, i)
		case '[', '{':
			c.open(raw, i)
		case ']', '}':
			c.close(i)
		}
	}
	if c.out == nil {
		return raw
	}
	return append(c.out, raw[c.kept:]...)
}

// endOfText returns the index of the closing quote of the JSON string that begins at index i.
func endOfText(raw []byte, i int) int {
	for i++; raw[i] != '"'; i++ {
		if raw[i] == '\\' {
			i++
		}
	}
	return i
}

// jsonTrimmer copies a JSON text without the parts that are nested too deep.
type jsonTrimmer struct {
	out   []byte // nil until something is omitted
	kept  int    // end of the part of the text that was already copied or omitted
	depth int
}

func (c *jsonTrimmer) open(raw []byte, i int) {
	if c.depth++; c.depth == described+1 {
		c.out = append(append(c.out, raw[c.kept:i]...), "null"...)
	}
}

func (c *jsonTrimmer) close(i int) {
	if c.depth--; c.depth == described {
		c.kept = i + 1
	}
}
