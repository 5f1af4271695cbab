package schema

import "fmt"

// The limits. docs/protocol.md lists them for those who write workers.
const (
	// MaxBytes bounds the text of a schema.
	MaxBytes = 64 << 10
	// MaxDepth bounds how deep the text of a schema is nested.
	MaxDepth = 64
	// MaxNodes bounds the objects and booleans of its text: each may be a schema.
	MaxNodes = 4096
	// MaxAnchors bounds its $id, $anchor and $dynamicAnchor members.
	MaxAnchors = 64
	// MaxRefs bounds its $ref members that lead elsewhere than to the root and to
	// what stands directly in its definitions.
	MaxRefs = 256
	// MaxExpanded bounds how many schemas apply to one value, with every $ref followed
	// each time that it is there.
	MaxExpanded = 1024
	// MaxChain bounds how many of them lead to one another, as a chain of $ref does.
	MaxChain = 64
	// MaxPattern bounds the bytes of a regular expression.
	MaxPattern = 512
	// MaxPatternSteps bounds the instructions of all regular expressions of a schema,
	// compiled: {1,1000} makes a thousand of one character.
	MaxPatternSteps = 16 << 10
	// MaxNumber bounds the digits of a number, and the size of its exponent.
	MaxNumber = 400
	// MaxValueDepth bounds how deep a value is nested that is checked by a schema.
	MaxValueDepth = 256
	// MaxSteps bounds the steps of one validation.
	MaxSteps = 1 << 20
)

// What a compiled schema holds in memory, roughly: for the bound of a cache.
const (
	nodeWeight = 1 << 10
	stepWeight = 64
)

// LimitError says which limit a schema or a value is over.
type LimitError struct {
	What string
	// Got is 0 where counting stopped at the limit.
	Got, Max int
}

func (e *LimitError) Error() string {
	if e.Got > 0 {
		return fmt.Sprintf("has %d %s; the limit is %d", e.Got, e.What, e.Max)
	}
	return fmt.Sprintf("has more than %d %s", e.Max, e.What)
}
