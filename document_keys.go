package perdure

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// container is an object or array that the scanner has entered and not left.
type container struct {
	end   byte                // '}' or ']'
	items int                 // number of keys or elements so far
	key   string              // the newest key, shortened for errors
	keys  map[string]struct{} // nil if duplicates are allowed
	place string              // path in the form of DocumentRules.Arrays; "?" if no rule applies
	most  int                 // maximum number of elements; 0 for no limit
	free  bool                // duplicate keys are allowed in this container and the ones inside it
}

// nowhere stands for the path of a value if no path in DocumentRules.Arrays begins with that path.
const nowhere = "?"

func (s *scanner) enter(end byte) error {
	deep := MaxNesting
	if s.rules.Workers || len(s.rules.Opaque) > 0 {
		deep = goNesting
	}
	if len(s.open) >= deep {
		return FieldErrorf(s.root, "is nested over %d levels deep", deep)
	}
	c := container{end: end, place: s.place(), free: s.free()}
	if end == ']' {
		c.most = s.rules.Arrays[c.place]
	}
	s.open = append(s.open, c)
	return nil
}

// free reports whether duplicate keys are allowed in the next value.
func (s *scanner) free() bool {
	if len(s.open) == 0 {
		return s.rules.Workers
	}
	in := &s.open[len(s.open)-1]
	return in.free || in.end == '}' && slices.Contains(s.rules.Opaque, in.key)
}

func (s *scanner) close() {
	last := &s.open[len(s.open)-1]
	s.keys -= len(last.keys)
	*last = container{}
	s.open = s.open[:len(s.open)-1]
}

// place returns the path of the next value in the document, in the form of DocumentRules.Arrays.
func (s *scanner) place() string {
	if len(s.open) == 0 || len(s.rules.Arrays) == 0 {
		return ""
	}
	in := &s.open[len(s.open)-1]
	place := in.place
	switch {
	case place == nowhere:
		return nowhere
	case in.end == ']':
		place += "[]"
	case place == "":
		place = foldName(in.key)
	default:
		place += "." + foldName(in.key)
	}
	for rule := range s.rules.Arrays {
		if strings.HasPrefix(rule, place) {
			return place
		}
	}
	return nowhere
}

// foldName returns the same string for all names that encoding/json treats as equal.
func foldName(name string) string {
	return strings.Map(func(r rune) rune {
		switch r {
		case 'ſ':
			return 's'
		case '\u212a': // the Kelvin sign
			return 'k'
		}
		return unicode.ToLower(r)
	}, name)
}

func (s *scanner) element(in *container) error {
	if in.items++; in.most > 0 && in.items > in.most {
		s.open = s.open[:len(s.open)-1]
		return s.refuse("has over %d elements", in.most)
	}
	return nil
}

// key reads the key of an object's member and records it.
func (s *scanner) key(in *container) error {
	if s.peek() != '"' {
		return s.malformed()
	}
	if in.free {
		return s.freeKey(in)
	}
	s.word = append(s.word[:0], '"')
	in.key = "" // so that an error inside the key does not name the previous key
	if err := s.text(&s.word, MaxKeyBytes); err != nil {
		return err
	}
	in.items++
	if len(s.word) > MaxKeyBytes {
		return FieldErrorf(s.root, "has a key of over %d bytes", MaxKeyBytes)
	}
	return s.note(in, unquoted(append(s.word, '"')))
}

// freeKey reads a key in an object that may have duplicate keys. It stores at most keyShown bytes of
// the key, and only if a rule needs the key. Otherwise the key costs no memory.
func (s *scanner) freeKey(in *container) error {
	in.key = ""
	if in.place == nowhere || len(s.rules.Arrays) == 0 {
		err := s.text(nil, 0)
		in.items++
		return err
	}
	s.word = append(s.word[:0], '"')
	if err := s.text(&s.word, keyShown); err != nil {
		return err
	}
	in.items++
	if len(s.word) <= keyShown {
		in.key = unquoted(append(s.word, '"'))
	}
	return nil
}

// note adds a key to the keys of its object, and refuses a key that the object already has.
func (s *scanner) note(in *container, key string) error {
	in.key = cutKey(key)
	if len(key) > sha256.Size {
		sum := sha256.Sum256([]byte(key))
		key = string(sum[:])
	}
	if _, before := in.keys[key]; before {
		s.doubled = true
		return s.refuse("is given twice; give each key once")
	}
	if s.keys++; s.keys > MaxKeys {
		return FieldErrorf(s.root, "has an object of over %d keys", MaxKeys)
	}
	if in.keys == nil {
		in.keys = map[string]struct{}{}
	}
	in.keys[key] = struct{}{}
	return nil
}

// unquoted decodes a JSON string that is known to be valid.
func unquoted(raw []byte) string {
	if !slices.Contains(raw, '\\') {
		return string(raw[1 : len(raw)-1])
	}
	var text string
	_ = json.Unmarshal(raw, &text)
	return text
}

func pathOfKeys(root string, open []container) string {
	var path strings.Builder
	path.WriteString(root)
	for _, c := range open {
		switch {
		case path.Len() > pathShown:
			return path.String() + "..."
		case c.items == 0, c.end == '}' && c.key == "": // inside a key, or the key is not stored
			return path.String()
		case c.end == ']':
			fmt.Fprintf(&path, "[%d]", c.items-1)
		case path.Len() > 0:
			path.WriteString("." + c.key)
		default:
			path.WriteString(c.key)
		}
	}
	return path.String()
}

const (
	keyShown  = 100  // maximum bytes of a key in an error message
	pathShown = 1000 // maximum bytes of a path in an error message
)

// cutKey shortens a key to keyShown bytes, for an error message.
func cutKey(key string) string {
	if len(key) <= keyShown {
		return key
	}
	return strings.ToValidUTF8(key[:keyShown], "") + "..."
}
