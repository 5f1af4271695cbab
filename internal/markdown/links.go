package markdown

import (
	"bytes"

	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/util"
)

// linkBytes is the maximum size of the stored link definitions of a text: of their labels,
// destinations and titles together.
const linkBytes = 256 << 10

// links contains the link definitions of a text, by label. The first definition of a label is used.
// Further definitions over the limit of linkBytes are ignored.
type links struct {
	byLabel map[string]parser.Reference
	bytes   int
}

func newLinks() *links { return &links{byLabel: map[string]parser.Reference{}} }

func (l *links) add(ref parser.Reference) {
	key := util.ToLinkReference(ref.Label())
	size := len(ref.Label()) + len(ref.Destination()) + len(ref.Title())
	if _, known := l.byLabel[key]; known || l.bytes+size > linkBytes {
		return
	}
	l.bytes += size
	l.byLabel[key] = parser.NewReference(bytes.Clone(ref.Label()), bytes.Clone(ref.Destination()), bytes.Clone(ref.Title()))
}

// linkContext is a parse context with the links that earlier parts of the text have defined. The
// parser appends new definitions to the field `found`.
type linkContext struct {
	parser.Context
	known *links
	found []parser.Reference
	own   map[string]parser.Reference
}

func newLinkContext(known *links) *linkContext {
	return &linkContext{Context: parser.NewContext(), known: known, own: map[string]parser.Reference{}}
}

// AddReference implements parser.Context.
func (c *linkContext) AddReference(ref parser.Reference) {
	c.found = append(c.found, ref)
	key := util.ToLinkReference(ref.Label())
	if _, twice := c.own[key]; !twice {
		c.own[key] = ref
	}
}

// Reference implements parser.Context.
func (c *linkContext) Reference(label string) (parser.Reference, bool) {
	if ref, ok := c.known.byLabel[label]; ok {
		return ref, true
	}
	ref, ok := c.own[label]
	return ref, ok
}

// References implements parser.Context.
func (c *linkContext) References() []parser.Reference { return c.found }
