package schema

import "fmt"

// These are the limits for schemas and values. docs/protocol.md lists them for authors of workers.
const (
	// MaxBytes is the maximum length of a schema's text in bytes.
	MaxBytes = 64 << 10
	// MaxDepth is the maximum nesting depth of a schema's text.
	MaxDepth = 64
	// MaxNodes is the maximum number of objects and booleans in a schema's text. Each of them may
	// be a schema.
	MaxNodes = 4096
	// MaxAnchors is the maximum number of $id, $anchor and $dynamicAnchor members.
	MaxAnchors = 64
	// MaxRefs is the maximum number of $ref members that refer to neither the root nor one of its
	// definitions.
	MaxRefs = 256
	// MaxExpanded is the maximum number of schemas that apply to one value. A schema counts once
	// for each $ref that leads to it.
	MaxExpanded = 1024
	// MaxChain is the maximum length of a chain of schemas that apply to one value, such as a chain
	// of $ref.
	MaxChain = 64
	// MaxPattern is the maximum length of a regular expression in bytes.
	MaxPattern = 512
	// MaxPatternSteps is the maximum number of instructions of all compiled regular expressions of
	// a schema. For example, a character with {1,1000} is compiled to a thousand instructions.
	MaxPatternSteps = 16 << 10
	// MaxNumber is the maximum number of digits of a number, and the maximum absolute value of an
	// exponent.
	MaxNumber = 400
	// MaxValueDepth is the maximum nesting depth of a value that is validated.
	MaxValueDepth = 256
	// MaxSteps is the maximum number of steps of one validation.
	MaxSteps = 1 << 20
)

// These are approximate sizes in memory of a compiled schema's parts, in bytes. A Cache computes
// the memory of its schemas from these sizes.
const (
	nodeWeight = 1 << 10
	stepWeight = 64
)

// LimitError names the limit that a schema or a value exceeds.
type LimitError struct {
	What string
	// Got is the size of the schema or the value, and Max is the limit. Got is 0 if the count
	// stopped at the limit.
	Got, Max int
}

func (e *LimitError) Error() string {
	if e.Got > 0 {
		return fmt.Sprintf("has %d %s; the limit is %d", e.Got, e.What, e.Max)
	}
	return fmt.Sprintf("has more than %d %s", e.Max, e.What)
}
