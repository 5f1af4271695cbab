package markdown

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"github.com/yuin/goldmark/util"
)

// joined writes the chunks to a Buffer, and returns the concatenated HTML of the final parts. It
// checks that every part that is not final is replaced by another one, and that final parts are
// numbered without gaps.
func joined(t *testing.T, chunks []string, show bool) string {
	t.Helper()
	var out strings.Builder
	open, next := false, 0
	b := NewBuffer(func(p Part) {
		if p.Seq != 7 || p.Number != next {
			t.Fatalf("part %d of %d, want %d of 7", p.Number, p.Seq, next)
		}
		if open = !p.Final; p.Final {
			next++
			out.WriteString(p.HTML)
		}
	})
	for _, c := range chunks {
		b.Write(7, c)
		if show {
			b.Show()
		}
	}
	b.Flush()
	if open {
		t.Fatal("a provisional part is never replaced")
	}
	return out.String()
}

func bytewise(s string) []string {
	chunks := make([]string, len(s))
	for i := range len(s) {
		chunks[i] = s[i : i+1]
	}
	return chunks
}

func randomly(s string, r *rand.Rand) []string {
	var chunks []string
	for len(s) > 0 {
		n := 1 + r.IntN(min(len(s), 1+r.IntN(60)))
		chunks, s = append(chunks, s[:n]), s[n:]
	}
	return chunks
}

var (
	anyLabel   = regexp.MustCompile(`^\[((?:[^\[\]\\]|\\.)+)\]`)
	definition = regexp.MustCompile(`(?m)^[ >]*\[((?:[^\[\]\\]|\\.)+)\]:`)
)

// definesLate reports whether the text uses a link before the definition of that link. The tests
// skip such texts, because their rendering in parts may differ from the rendering of the whole
// text.
func definesLate(source string) bool {
	defined := map[string]int{}
	for _, at := range definition.FindAllStringSubmatchIndex(source, -1) {
		defined[util.ToLinkReference([]byte(source[at[2]:at[3]]))] = at[2]
	}
	for i := range len(source) {
		if label := anyLabel.FindStringSubmatch(source[i:]); label != nil {
			where, known := defined[util.ToLinkReference([]byte(label[1]))]
			if known && i+1 < where {
				return true
			}
		}
	}
	return false
}

// TestAnyChunkingRendersAsTheWhole checks that the final parts of a text, concatenated, equal the
// rendering of the whole text, however the text is divided into chunks.
func TestAnyChunkingRendersAsTheWhole(t *testing.T) {
	t.Parallel()
	checked := 0
	for i, e := range append(specExamples(t), answers(t)...) {
		if definesLate(e.Markdown) {
			continue
		}
		checked++
		want := Render(e.Markdown)
		r := rand.New(rand.NewPCG(uint64(i), 1))
		ways := [][]string{{e.Markdown}, strings.SplitAfter(e.Markdown, "\n"), randomly(e.Markdown, r), randomly(e.Markdown, r)}
		if len(e.Markdown) < 4<<10 {
			ways = append(ways, bytewise(e.Markdown))
		}
		for way, chunks := range ways {
			if got := joined(t, chunks, way == 2); got != want {
				t.Errorf("example %d %s, cut in way %d:\n%q\nparts: %q\nwhole: %q", i, e.name, way, e.Markdown, got, want)
			}
		}
	}
	if checked < 600 {
		t.Errorf("only %d texts were checked", checked)
	}
}

// TestAnyTwoExamplesRenderAsTheWhole checks that the final parts of two texts in a row,
// concatenated, equal the rendering of both together. There are no, one or two line breaks between
// the texts.
func TestAnyTwoExamplesRenderAsTheWhole(t *testing.T) {
	t.Parallel()
	all := specExamples(t)
	r := rand.New(rand.NewPCG(3, 4))
	for range 2000 {
		a, b := all[r.IntN(len(all))], all[r.IntN(len(all))]
		source := a.Markdown + strings.Repeat("\n", r.IntN(3)) + b.Markdown
		if definesLate(source) {
			continue
		}
		if got, want := joined(t, randomly(source, r), false), Render(source); got != want {
			t.Errorf("%q\nparts: %q\nwhole: %q", source, got, want)
		}
	}
}

// TestTextShowsAtOnceAndEndedBlocksAreFinal checks that text is emitted before its block has ended,
// and that the part is final when the block has ended.
func TestTextShowsAtOnceAndEndedBlocksAreFinal(t *testing.T) {
	t.Parallel()
	var got []string
	b := NewBuffer(func(p Part) { got = append(got, fmt.Sprint(p.Seq, p.Number, p.Final, " ", p.HTML)) })
	write := func(seq int64, s string) { b.Write(seq, s); b.Show() }
	write(1, "Hel")
	write(1, "lo\n\n")
	write(2, "- a")
	write(2, "\n\n- b\n\n")
	write(3, "end")
	b.Flush()
	want := []string{
		"1 0 false <p>Hel</p>\n", "1 0 true <p>Hello</p>\n",
		"2 0 false <ul>\n<li>a</li>\n</ul>\n",
		"2 0 false <ul>\n<li>\n<p>a</p>\n</li>\n<li>\n<p>b</p>\n</li>\n</ul>\n",
		"2 0 true <ul>\n<li>\n<p>a</p>\n</li>\n<li>\n<p>b</p>\n</li>\n</ul>\n", "3 0 false <p>end</p>\n", "3 0 true <p>end</p>\n",
	}
	if strings.Join(got, "|") != strings.Join(want, "|") {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

// TestCoalescingPreservesTheFirstSeq checks that a part has the seq of its first chunk.
func TestCoalescingPreservesTheFirstSeq(t *testing.T) {
	t.Parallel()
	var got []int64
	b := NewBuffer(func(p Part) { got = append(got, p.Seq) })
	b.Write(5, "one ")
	b.Write(6, "two\n\n")
	b.Write(7, "three")
	b.Write(8, " four\n\nfive")
	b.Flush()
	if fmt.Sprint(got) != "[5 7 8]" {
		t.Errorf("seqs %v, want [5 7 8]", got)
	}
}

// TestUnmatchedFormattingHoldsBack checks that SafeFlush emits nothing inside open formatting or an
// open block, and that Flush emits the text there.
func TestUnmatchedFormattingHoldsBack(t *testing.T) {
	t.Parallel()
	for source, held := range map[string]bool{
		"plain": false, "**bold": true, "**bold**": false, "a `code": true, "a `code`": false,
		"``a ` b``": false, "``a ` b": true, "a `**`": false, `\**not`: false, "- item": true, "```\ncode": true,
		"```\ncode\n```\n": false, "| a |": true, "1. one\n": true,
	} {
		parts := 0
		b := NewBuffer(func(Part) { parts++ })
		b.Write(1, source)
		before := parts
		if got := b.SafeFlush(); got == held || (parts > before) == held && before == 0 {
			t.Errorf("%q: flushed %v with %d parts, want held back %v", source, got, parts, held)
		}
		b.Flush()
		if parts != 1 {
			t.Errorf("%q: %d parts after the end, want 1", source, parts)
		}
	}
}

// TestHardLimitCutsABlock checks that a block without an end is cut, and that at most HardLimit
// bytes are pending.
func TestHardLimitCutsABlock(t *testing.T) {
	t.Parallel()
	var sizes []int
	b := NewBuffer(func(p Part) { sizes = append(sizes, len(p.HTML)) })
	for range 30 {
		b.Write(1, strings.Repeat("é", 4<<10))
		if len(b.pending) > HardLimit {
			t.Fatalf("%d bytes wait", len(b.pending))
		}
	}
	if len(sizes) < 3 {
		t.Errorf("%d parts of 240 KiB without a line's end", len(sizes))
	}
}

// TestTagsAreShownNotObeyed checks that HTML tags and dangerous addresses in a text have no effect
// in the output.
func TestTagsAreShownNotObeyed(t *testing.T) {
	t.Parallel()
	for _, source := range []string{
		"<script>alert(1)</script>\n", "a <img src=x onerror=alert(1)> b", "[x](javascript:alert(1))",
		"<div onclick=alert(1)>\n\ntext\n\n</div>", "![p](data:text/html;base64,PHNjcmlwdD4=)", "<a href=\"javascript:x\">y</a>",
		"[a]: javascript:alert(1)\n\n[a]", "```<script>\nx\n```",
	} {
		html := Render(source)
		for _, bad := range []string{"<script", "<img src=\"x\"", "<div", "onerror=\"", "href=\"javascript", "src=\"data:text"} {
			if strings.Contains(html, bad) {
				t.Errorf("%q renders as %q", source, html)
			}
		}
	}
}
