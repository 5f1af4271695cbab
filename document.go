package perdure

import (
	"io"
)

const (
	// MaxParts is the maximum number of parts of a message or a tool result.
	MaxParts = 1000
	// MaxMessages is the maximum number of messages in one request.
	MaxMessages = 100_000
	// MaxNesting is the maximum nesting of a client's JSON.
	MaxNesting = 1000
	// MaxKeys is the maximum number of keys of a client's object, including the keys of the objects
	// around it.
	MaxKeys = 100_000
	// MaxKeyBytes is the maximum length in bytes of a key of a client's object.
	MaxKeyBytes = 64 << 10
	// goNesting is the nesting limit of encoding/json.
	goNesting = 10_000
)

// DocumentRules are the rules for a JSON document, in addition to valid JSON in UTF-8. The zero
// value holds the rules for clients.
type DocumentRules struct {
	// Workers lifts the limits of nesting and keys, and allows duplicate keys. It is for contents
	// that agents and tools create.
	Workers bool
	// Opaque are keys whose values may contain duplicate keys. It is for values that a model or a
	// provider wrote, which stay unchanged.
	Opaque []string
	// Values, unless 0, is the maximum number of values in the document. It is for a document that
	// is decoded as a whole.
	Values int
	// Arrays are the maximum lengths of arrays by their place, such as "parts" and "parts[].parts".
	// Names are compared as encoding/json compares them.
	Arrays map[string]int
}

// MessageParts is the value of DocumentRules.Arrays for a message's content.
var MessageParts = map[string]int{"parts": MaxParts, "parts[].parts": MaxParts}

// CheckDocument reads a JSON text to its end and checks that it is JSON in UTF-8 and follows the
// rules. Its memory does not grow with the text, except for the keys of the currently open objects.
// The error is invalid_argument and names the value's path below root, or it is the reader's error.
func CheckDocument(root string, text io.Reader, rules DocumentRules) error {
	return checkDocument(&scanner{in: text, buf: make([]byte, 0, 32<<10), root: root, rules: rules})
}

// CheckDocumentBytes is CheckDocument for a text in memory.
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

// CheckNoDoubledKeys refuses JSON with an object that has a key twice, because readers differ in
// which value they use. Keys are compared after their escapes are decoded. The location of the
// error's field is the key's path below root. Invalid JSON passes; the decoder refuses it.
func CheckNoDoubledKeys(root string, raw []byte) error { return checkNoDoubledKeys(root, raw) }

// checkNoDoubledKeys is CheckNoDoubledKeys, but allows duplicate keys inside the values of the keys
// in but.
func checkNoDoubledKeys(root string, raw []byte, but ...string) error {
	s := &scanner{buf: raw, root: root, rules: DocumentRules{Opaque: but}}
	if err := s.document(); s.doubled {
		return err
	}
	return nil
}
