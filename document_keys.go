package perdure

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// container is an object or array that a scanner is inside of.
type container struct {
	end   byte                // '}' or ']'
	items int                 // keys or elements so far
	key   string              // the newest one, cut
	keys  map[string]struct{} // nil if they may be doubled
	place string              // as in DocumentRules.Arrays; "?" if no rule reaches it
	most  int                 // elements that it may have; 0 for any number
	free  bool                // its keys, and those inside, may be doubled
}

// nowhere is the place of what no rule reaches.
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

// free reports whether keys inside the value that follows may be doubled.
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

// place returns where the value that follows stands.
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

// foldName is the same for names that encoding/json takes for one.
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

// key reads a member's key and notes it.
func (s *scanner) key(in *container) error {
	if s.peek() != '"' {
		return s.malformed()
	}
	if in.free {
		return s.freeKey(in)
	}
	s.word = append(s.word[:0], '"')
	in.key = "" // for an error inside the key
	if err := s.text(&s.word, MaxKeyBytes); err != nil {
		return err
	}
	in.items++
	if len(s.word) > MaxKeyBytes {
		return FieldErrorf(s.root, "has a key of over %d bytes", MaxKeyBytes)
	}
	return s.note(in, unquoted(append(s.word, '"')))
}

// freeKey keeps a key only where a rule may need it, which costs no memory a key.
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

// note takes a key into those of its object.
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

// unquoted is a string of JSON that has been found valid.
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
		case c.items == 0, c.end == '}' && c.key == "": // inside a key, or it is not kept
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
	keyShown  = 100  // bytes of a key
	pathShown = 1000 // bytes of a path
)

// cutKey bounds a key that a client chose.
func cutKey(key string) string {
	if len(key) <= keyShown {
		return key
	}
	return strings.ToValidUTF8(key[:keyShown], "") + "..."
}
