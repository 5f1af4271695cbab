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
	// MaxKeys is the maximum number of keys in the open objects of a client's JSON: the current
	// object, and all objects around it.
	MaxKeys = 100_000
	// MaxKeyBytes is the maximum length in bytes of a key in a client's JSON.
	MaxKeyBytes = 64 << 10
	// goNesting is the nesting limit of encoding/json.
	goNesting = 10_000
)

// DocumentRules are the rules that a JSON document must follow, beyond being valid JSON in UTF-8. The
// zero value has the rules for documents of clients.
type DocumentRules struct {
	// Workers lifts the limits of nesting and keys, and allows duplicate keys. It is set for documents
	// that agents and tools create.
	Workers bool
	// Opaque lists the keys whose values may contain duplicate keys. A model or a provider wrote these
	// values, and they are stored unchanged.
	Opaque []string
	// Values is the maximum number of values in the document; 0 means no limit. It is set for a
	// document that is decoded into memory as a whole.
	Values int
	// Arrays are the maximum lengths of arrays by their path, such as "parts" and "parts[].parts".
	// Names in a path match in any case, as in encoding/json.
	Arrays map[string]int
}

// MessageParts is the value of DocumentRules.Arrays for a message's content.
var MessageParts = map[string]int{"parts": MaxParts, "parts[].parts": MaxParts}

// CheckDocument reads a JSON text to its end and checks that it is JSON in UTF-8 and follows the
// rules. It holds no part of the text in memory, except the keys of the objects that it has entered
// and not yet left. The error is the reader's error, or invalid_argument with the path of the
// invalid value. The path begins with root.
func CheckDocument(root string, text io.Reader, rules DocumentRules) error {
	return checkDocument(&scanner{in: text, buf: make([]byte, 0, 32<<10), root: root, rules: rules})
}

// CheckDocumentBytes does the same as CheckDocument, for a text in memory.
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

// CheckNoDoubledKeys refuses JSON in which an object has a key twice, because readers differ in
// which value they use. Keys are compared after their escapes are decoded. The error names the path
// of the key; the path begins with root. Invalid JSON is not an error here; the decoder refuses it.
func CheckNoDoubledKeys(root string, raw []byte) error { return checkNoDoubledKeys(root, raw) }

// checkNoDoubledKeys does the same as CheckNoDoubledKeys, but allows duplicate keys inside the values
// of the keys listed in opaque.
func checkNoDoubledKeys(root string, raw []byte, opaque ...string) error {
	s := &scanner{buf: raw, root: root, rules: DocumentRules{Opaque: opaque}}
	if err := s.document(); s.doubled {
		return err
	}
	return nil
}
