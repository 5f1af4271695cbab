package markdown

import (
	"fmt"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/perdure/perdure/internal/longtest"
)

const hostileBytes = 62 << 10

func filled(s string) string { return strings.Repeat(s, hostileBytes/len(s)) }

func tableOf(columns, rows int) string {
	return "|" + strings.Repeat("a|", columns) + "\n|" + strings.Repeat("-|", columns) + "\n" + strings.Repeat("a\n", rows)
}

func steps(depth int) string {
	var b strings.Builder
	for i := range depth {
		b.WriteString(strings.Repeat("  ", i) + "- a\n")
	}
	return b.String()
}

// hostile returns texts whose rendering could take disproportionate time or memory. The field
// `plain` says that the text must be shown as escaped source.
func hostile() map[string]struct {
	text  string
	plain bool
} {
	type c = struct {
		text  string
		plain bool
	}
	half := hostileBytes / 2
	return map[string]c{
		"wide table":          {tableOf(10000, 10000), true},
		"table in a quote":    {"> " + strings.ReplaceAll(tableOf(8000, 8000), "\n", "\n> "), true},
		"table without pipes": {"a|b\n-|-\n" + filled("a\n"), false},
		"pipes in code":       {"|a|\n|-|\n" + filled("`\\|`|\n"), true},
		"quotes":              {filled(">"), true},
		"quotes and lists":    {strings.Repeat("> - ", 40) + "a", true},
		"bullets":             {filled("- ") + "a", true},
		"numbers":             {filled("1. ") + "a", true},
		"steps":               {steps(200), true},
		"steps and blanks":    {steps(32) + filled("\n"), true},
		"loose list":          {filled("- a\n\n"), false},
		"tight list":          {filled("- a\n"), false},
		"mixed emphasis":      {filled("*a_ "), true},
		"adjacent emphasis":   {filled("*_a"), true},
		"closing emphasis":    {"a**b" + filled("c* "), true},
		"strikes":             {filled("~a~~b "), true},
		"stars":               {strings.Repeat("*", half) + "a" + strings.Repeat("*", half), true},
		"brackets":            {strings.Repeat("[", half) + strings.Repeat("]", half), true},
		"open brackets":       {filled("["), false},
		"destinations":        {filled("[a](b"), true},
		"sharp destinations":  {filled("[a](<b "), true},
		"nested links":        {strings.Repeat("![", 40) + "a" + strings.Repeat("](b)", 40), true},
		"one link, often":     {"[a]: /" + strings.Repeat("u", 9000) + "\n" + strings.Repeat("[a]", 10000), true},
		"definitions":         {filled("[a]: u\n"), false},
		"code spans":          {filled("`a ``b "), false},
		"comments":            {filled("a<!-- "), false},
		"tags":                {filled("<a x='"), false},
		"addresses":           {filled("http://a.b "), false},
		"entities":            {filled("&amp;"), false},
		"quotation marks":     {filled("\""), false},
		"snake case":          {filled("a_b_c "), false},
	}
}

// TestRenderingIsBounded checks that the rendering of hostile texts is within limits: the allocated
// memory, the length of the output, and the number and the depth of the output's nodes.
func TestRenderingIsBounded(t *testing.T) {
	longtest.Skip(t, "seconds")
	for name, c := range hostile() {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		out, plain := render([]byte(c.text), newLinks(), true)
		runtime.ReadMemStats(&after)
		if plain != c.plain {
			t.Errorf("%s: shown as it stands: %v, want %v", name, plain, c.plain)
		}
		if limit := outputLimit(len(c.text)); len(out) > limit {
			t.Errorf("%s: %d bytes become %d, want %d at most", name, len(c.text), len(out), limit)
		}
		if used := (after.TotalAlloc - before.TotalAlloc) >> 20; used > 256 {
			t.Errorf("%s: rendering %d bytes takes %d MiB", name, len(c.text), used)
		}
		nodes, depth := count(out)
		if nodes > cellsPerByte*len(c.text) || depth > 2*maxNesting+4 {
			t.Errorf("%s: %d bytes become %d nodes, %d deep", name, len(c.text), nodes, depth)
		}
		if plain && !strings.HasPrefix(out, "<pre>") {
			t.Errorf("%s: shown as %.60q", name, out)
		}
	}
}

var tag = regexp.MustCompile(`<(/?)([a-z0-9]+)`)

func count(out string) (nodes, deepest int) {
	depth := 0
	for _, m := range tag.FindAllStringSubmatch(out, -1) {
		switch {
		case m[2] == "br" || m[2] == "hr" || m[2] == "input":
		case m[1] == "/":
			depth--
		default:
			depth++
		}
		nodes++
		deepest = max(deepest, depth)
	}
	return nodes, deepest
}

// TestBoundsAreWhereTheyAreSaidToBe checks that texts just within the limits are rendered, and that
// texts just over them are shown as escaped source.
func TestBoundsAreWhereTheyAreSaidToBe(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text string
		want string
	}{
		"32 quotes":           {strings.Repeat(">", 32) + "a\n", "<blockquote>"},
		"33 quotes":           {strings.Repeat(">", 33) + "a\n", "<pre>"},
		"32 steps":            {steps(32), "<ul>"},
		"33 steps":            {steps(33), "<pre>"},
		"quotes in code":      {"```\n" + strings.Repeat(">", 32) + "\n```\n", "<pre><code>"},
		"13 cells a byte":     {tableOf(57, 100), "<table>"},
		"over 20 cells":       {tableOf(4000, 4000), "<pre>"},
		"a table of a report": {"| a | b | c |\n|---|---|---|\n" + strings.Repeat("| **x** | `y\\|z` | [l](http://example.com/a) |\n", 1000), "<table>"},
		"a list of links":     {strings.Repeat("- [a](http://example.com/a_b_c) *x*\n", 1500), "<ul>"},
	} {
		if got := Render(c.text); !strings.HasPrefix(got, c.want) {
			t.Errorf("%s is shown as %.80q, want %s", name, got, c.want)
		}
	}
}

// TestBlocksOverABoundJoinToTheWhole checks that the streamed parts of a text with a hostile block,
// concatenated, equal the rendering of the whole text.
func TestBlocksOverABoundJoinToTheWhole(t *testing.T) {
	longtest.Skip(t, "seconds")
	t.Parallel()
	for name, c := range hostile() {
		source := "# before\n\n" + c.text + "\n\nafter *it*\n"
		want := Render(source)
		var lines []string
		for i := 0; i < len(source); i += 4093 {
			lines = append(lines, source[i:min(i+4093, len(source))])
		}
		if got := joined(t, lines, false); got != want {
			t.Errorf("%s: the parts are not the whole", name)
		}
		if c.plain && !strings.Contains(want, "<pre>") {
			t.Errorf("%s: not shown as it stands", name)
		}
	}
}

// TestProvisionalPartsAreBounded checks the parts that are emitted for a block while it grows
// (those that are not final). Their total length is at most 40 times the length of the block.
func TestProvisionalPartsAreBounded(t *testing.T) {
	longtest.Skip(t, "seconds")
	t.Parallel()
	source, shown, parts := strings.Repeat("- item\n", 9000), 0, 0
	b := NewBuffer(func(p Part) {
		if !p.Final {
			shown, parts = shown+len(p.Source), parts+1
		}
	})
	for line := range strings.Lines(source) {
		b.Write(1, line)
		b.Show()
	}
	if limit := 40 * len(source); shown > limit || parts < 50 {
		t.Errorf("%d bytes were shown in %d parts of %d bytes, want %d at most", shown, parts, len(source), limit)
	}
}

// TestLinksOfATextAreBounded checks that the stored link definitions of a text with 40,000
// definitions are limited to linkBytes.
func TestLinksOfATextAreBounded(t *testing.T) {
	longtest.Skip(t, "seconds")
	t.Parallel()
	b := NewBuffer(func(Part) {})
	for i := range 40000 {
		b.Write(1, fmt.Sprintf("[label%d]: /destination\n\n", i))
	}
	b.Write(1, "[label1] [label39999]\n\n")
	if b.links.bytes > linkBytes || len(b.links.byLabel) < 1000 {
		t.Errorf("%d links of %d bytes are kept", len(b.links.byLabel), b.links.bytes)
	}
}
