package markdown

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// record records the output of a StreamBuffer.
type record struct {
	out  []string
	html strings.Builder
}

func (r *record) buffer() *StreamBuffer[string] {
	return NewStreamBuffer(func(_ int64, p Part) {
		if p.Final {
			r.out = append(r.out, fmt.Sprintf("%d:%s", p.Seq, p.HTML))
			r.html.WriteString(p.HTML)
		}
	}, func(e string) { r.out = append(r.out, e) })
}

func (r *record) want(t *testing.T, want ...string) {
	t.Helper()
	if got := strings.Join(r.out, "|"); got != strings.Join(want, "|") {
		t.Errorf("got  %q\nwant %q", got, strings.Join(want, "|"))
	}
}

// TestEventBuffer_OutOfOrderSeqPreserved checks that an event that waited for the end of a block
// keeps its seq, and that several waiting events are emitted in order.
func TestEventBuffer_OutOfOrderSeqPreserved(t *testing.T) {
	t.Parallel()
	var r record
	s := r.buffer()
	s.Text(1, 1, "- a\n")
	s.Event("2=call")
	s.Event("3=thought")
	s.Text(1, 4, "- b\n\ntext\n\n")
	s.Event("5=result")
	s.Flush()
	r.want(t, "1:<ul>\n<li>a</li>\n<li>b</li>\n</ul>\n", "2=call", "3=thought", "4:<p>text</p>\n", "5=result")
}

// TestEventBuffer_CoalescingPreservesFirstSeq checks that a paragraph of several chunks has the seq
// of its first chunk.
func TestEventBuffer_CoalescingPreservesFirstSeq(t *testing.T) {
	t.Parallel()
	var r record
	s := r.buffer()
	s.Text(1, 3, "one ")
	s.Text(1, 4, "two ")
	s.Text(1, 5, "three")
	s.Event("6=call")
	s.Text(1, 7, "after")
	s.Flush()
	r.want(t, "3:<p>one two three</p>\n", "6=call", "7:<p>after</p>\n")
}

// TestEventsWaitForTheEndOfABlock checks that an event inside a list, table or code block waits for
// the end of the block, and that an event inside a paragraph ends the paragraph.
func TestEventsWaitForTheEndOfABlock(t *testing.T) {
	t.Parallel()
	for name, text := range map[string][2]string{
		"numbered list": {"1. a\n", "2. b\n\nend\n\n"},
		"bullet list":   {"* a\n\n", "  more\n\nend\n\n"},
		"table":         {"| a |\n", "|---|\n| 1 |\n\nend\n\n"},
		"bare table":    {"a | b\n--|--\n", "1 | 2\n\nend\n\n"},
		"code":          {"```go\nx :=", " 1\n```\nend\n\n"},
		"tilde code":    {"~~~~\n~~~\n", "y\n~~~~\nend\n\n"},
		"half a fence":  {"`", "``\nx\n```\n\nend\n\n"},
		"half a number": {"1", ". a\n\nend\n\n"},
		"code in list":  {"- a\n\n  ```\n  x\n", "\n  y\n  ```\n\nend\n\n"},
	} {
		var r record
		s := r.buffer()
		s.Text(1, 1, text[0])
		s.Event("2=call")
		if len(r.out) != 0 {
			t.Errorf("%s: %q came out in the middle", name, r.out)
		}
		s.Text(1, 1, text[1])
		s.Flush()
		whole := Render(text[0] + text[1])
		block := strings.TrimSuffix(whole, "<p>end</p>\n")
		r.want(t, "1:"+block, "2=call", "1:<p>end</p>\n")
	}
	var r record
	s := r.buffer()
	s.Text(1, 1, "a paragraph ")
	s.Event("2=call")
	s.Text(1, 1, "goes on")
	s.Flush()
	r.want(t, "1:<p>a paragraph</p>\n", "2=call", "1:<p>goes on</p>\n")
}

// TestToolCallsInTheMiddleOfAnswers checks that tool calls inside the blocks of long answers do not
// change the rendering, and that all of them are emitted in order.
func TestToolCallsInTheMiddleOfAnswers(t *testing.T) {
	t.Parallel()
	for i, e := range answers(t) {
		r := rand.New(rand.NewPCG(uint64(i), 9))
		for range 40 {
			var got record
			s := got.buffer()
			calls := 0
			for _, chunk := range randomly(e.Markdown, r) {
				s.Text(1, 1, chunk)
				if s.inBlock() && r.IntN(6) == 0 {
					calls++
					s.Event(fmt.Sprintf("%d=call", 1+calls))
				}
			}
			s.Flush()
			if got.html.String() != Render(e.Markdown) {
				t.Fatalf("%s: events in blocks changed the text:\n%s", e.name, got.html.String())
			}
			var events []string
			for _, o := range got.out {
				if strings.HasSuffix(o, "=call") {
					events = append(events, o)
				}
			}
			for n, o := range events {
				if o != fmt.Sprintf("%d=call", n+2) {
					t.Fatalf("%s: event %d is %s", e.name, n, o)
				}
			}
			if len(events) != calls {
				t.Fatalf("%s: %d events came out of %d", e.name, len(events), calls)
			}
		}
	}
}

// TestTextsSideBySide checks that texts that arrive at the same time are rendered separately. An
// event waits until no text is inside a block. After a text is dropped, no more parts of it are
// emitted.
func TestTextsSideBySide(t *testing.T) {
	t.Parallel()
	var out []string
	s := NewStreamBuffer(func(key int64, p Part) {
		out = append(out, fmt.Sprintf("%d:%s %v", key, strings.TrimSpace(p.HTML), p.Final))
	}, func(e string) { out = append(out, e) })
	s.Text(1, 1, "- a\n")
	s.Text(2, 2, "words")
	s.Event("call")
	s.Show()
	s.Show()
	s.Text(3, 3, "never")
	s.Drop(3)
	s.End(2)
	s.Text(1, 1, "\nend")
	s.Event("result")
	s.End(1)
	want := []string{
		"1:<ul>\n<li>a</li>\n</ul> false", "2:<p>words</p> false", "2:<p>words</p> true",
		"1:<ul>\n<li>a</li>\n</ul> true", "call", "1:<p>end</p> true", "result",
	}
	if strings.Join(out, "|") != strings.Join(want, "|") {
		t.Errorf("got  %q\nwant %q", out, want)
	}
}

func BenchmarkLongCodeBlock(b *testing.B) {
	text := "```\n" + strings.Repeat("some line of code that is long enough\n", 1500) + "```\n"
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		buffer := NewBuffer(func(Part) {})
		for i := 0; i < len(text); i += 16 {
			buffer.Write(1, text[i:min(i+16, len(text))])
		}
		buffer.Flush()
	}
}
