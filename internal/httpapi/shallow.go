package httpapi

// described is how deep the schemas of bodies go, and deeper. Below it there is nothing
// but values of the client's own.
const described = 32

// shallow returns a JSON text with null in place of all arrays and objects that are
// nested deeper than described. Decoding a value costs hundreds of times its bytes if it
// is deep, and a check by a schema does not look there. The text has been checked.
func shallow(raw []byte) []byte {
	var c cut
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

// endOfText returns where the string that begins at i ends.
func endOfText(raw []byte, i int) int {
	for i++; raw[i] != '"'; i++ {
		if raw[i] == '\\' {
			i++
		}
	}
	return i
}

// cut is a text while parts are left out.
type cut struct {
	out   []byte // nil until something is left out
	kept  int    // what of the text is in out, or left out
	depth int
}

func (c *cut) open(raw []byte, i int) {
	if c.depth++; c.depth == described+1 {
		c.out = append(append(c.out, raw[c.kept:i]...), "null"...)
	}
}

func (c *cut) close(i int) {
	if c.depth--; c.depth == described {
		c.kept = i + 1
	}
}
