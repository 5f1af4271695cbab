package operation

// described is the depth to which body schemas may describe values. Deeper values belong to the
// client and have no schema.
const described = 32

// shallow returns a JSON text in which null replaces all arrays and objects nested deeper than
// described. Decoding a deep value costs hundreds of times its size in memory, and validation does
// not look at that depth. The text must already be checked.
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

// endOfText returns the end of the string that begins at i.
func endOfText(raw []byte, i int) int {
	for i++; raw[i] != '"'; i++ {
		if raw[i] == '\\' {
			i++
		}
	}
	return i
}

// jsonTrimmer copies a text and omits parts of it.
type jsonTrimmer struct {
	out   []byte // nil until something is omitted
	kept  int    // the end of the text that was copied or omitted
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
