package perdure

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// CheckNoDoubledKeys refuses JSON in which an object has a key twice: readers differ
// in which of the two values counts. Keys are compared as they are after their
// escapes. Location of the error's field is the key's path below root. What is not
// JSON passes, for the decoder to refuse.
func CheckNoDoubledKeys(root string, raw []byte) error { return checkNoDoubledKeys(root, raw) }

// checkNoDoubledKeys passes over what is inside of the values of some keys.
func checkNoDoubledKeys(root string, raw []byte, but ...string) error {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var open []container
	for {
		t, err := d.Token()
		if err != nil {
			return nil // the end, or no JSON
		}
		if delim, ok := t.(json.Delim); ok && (delim == '}' || delim == ']') {
			open = open[:len(open)-1]
			continue
		}
		if n := len(open); n > 0 && open[n-1].takesKey() {
			key, _ := t.(string)
			if open[n-1].add(key) && !slices.ContainsFunc(open[:n-1], func(c container) bool { return slices.Contains(but, c.key) }) {
				return FieldErrorf(pathOfKeys(root, open), "is given twice; give each key once")
			}
			continue
		}
		if n := len(open); n > 0 {
			open[n-1].valueFollows()
		}
		switch t {
		case json.Delim('{'):
			open = append(open, container{keys: map[string]bool{}})
		case json.Delim('['):
			open = append(open, container{})
		}
	}
}

// container is an object or array that a reading is inside of.
type container struct {
	keys  map[string]bool // nil in an array
	key   string          // the newest one
	keyed bool            // the key's value comes next
	items int
}

func (c *container) takesKey() bool { return c.keys != nil && !c.keyed }

// add takes a key and reports whether it was there before.
func (c *container) add(key string) bool {
	before := c.keys[key]
	c.keys[key], c.key, c.keyed = true, key, true
	return before
}

func (c *container) valueFollows() { c.keyed, c.items = false, c.items+1 }

func pathOfKeys(root string, open []container) string {
	var path strings.Builder
	path.WriteString(root)
	for _, c := range open {
		switch {
		case c.keys == nil:
			fmt.Fprintf(&path, "[%d]", c.items-1)
		case path.Len() > 0:
			path.WriteString("." + cutKey(c.key))
		default:
			path.WriteString(cutKey(c.key))
		}
	}
	return path.String()
}

// cutKey bounds a key that a client chose.
func cutKey(key string) string {
	const most = 100
	if len(key) <= most {
		return key
	}
	return strings.ToValidUTF8(key[:most], "") + "..."
}
