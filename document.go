package perdure

import (
	"io"
)

const (
	// MaxParts is the most parts of one message, and of one tool result.
	MaxParts = 1000
	// MaxMessages is the most messages that one request brings.
	MaxMessages = 100_000
	// MaxNesting is how deep a client's JSON may be nested.
	MaxNesting = 1000
	// MaxKeys is the most keys of a client's object, those of the objects around it
	// included.
	MaxKeys = 100_000
	// MaxKeyBytes is the most bytes of a key of a client's object.
	MaxKeyBytes = 64 << 10
	// goNesting is where encoding/json stops.
	goNesting = 10_000
)

// DocumentRules are what a JSON document has to keep to besides being JSON in UTF-8.
// The zero value is for what clients send.
type DocumentRules struct {
	// Workers lifts the bounds on nesting and keys, and lets a key be there twice:
	// a worker's contents are what its agents and tools make.
	Workers bool
	// Opaque are keys in whose values a key may be there twice: what a model or a
	// provider has written stays as it is.
	Opaque []string
	// Values, unless 0, is the most values of the whole document: for one that is
	// decoded as a whole.
	Values int
	// Arrays are the most elements of arrays by their place, as in "parts" and
	// "parts[].parts". Names match as encoding/json matches them.
	Arrays map[string]int
}

// MessageParts are DocumentRules.Arrays of a message's content.
var MessageParts = map[string]int{"parts": MaxParts, "parts[].parts": MaxParts}

// CheckDocument reads a JSON text to its end and refuses one that is not JSON in
// UTF-8 or breaks the rules. Its memory does not grow with the text, except by the
// keys of the objects that are open at once. The error is invalid_argument and names
// the value's path below root, or is the reader's own.
func CheckDocument(root string, text io.Reader, rules DocumentRules) error {
	return checkDocument(&scanner{in: text, buf: make([]byte, 0, 32<<10), root: root, rules: rules})
}

// CheckDocumentBytes is CheckDocument of a text in memory.
func CheckDocumentBytes(root string, text []byte, rules DocumentRules) error {
	return checkDocument(&scanner{buf: text, root: root, rules: rules})
}

func checkDocument(s *scanner) error {
	err := s.document()
	if s.failed != nil {
		return s.failed
	}
	return err
}

// CheckNoDoubledKeys refuses JSON in which an object has a key twice: readers differ
// in which of the two values counts. Keys are compared as they are after their
// escapes. Location of the error's field is the key's path below root. What is not
// JSON passes, for the decoder to refuse.
func CheckNoDoubledKeys(root string, raw []byte) error { return checkNoDoubledKeys(root, raw) }

// checkNoDoubledKeys passes over what is inside of the values of some keys.
func checkNoDoubledKeys(root string, raw []byte, but ...string) error {
	s := &scanner{buf: raw, root: root, rules: DocumentRules{Opaque: but}}
	if err := s.document(); s.doubled {
		return err
	}
	return nil
}
