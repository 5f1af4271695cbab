package terminal

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestListItemsAreIndentedToTheirFirstWord checks that everything in a list item is aligned with its
// first word: wrapped lines, nested lists, paragraphs and code.
func TestListItemsAreIndentedToTheirFirstWord(t *testing.T) {
	source := "- one two three four five six seven eight nine\n" +
		"  - nested one two three four five six seven\n" +
		"    1. deeper one two three four five six\n" +
		"- [x] done\n" +
		"\n" +
		"  A second paragraph of it that goes on beyond.\n" +
		"\n" +
		"  ```go\n  x := 1\n  ```\n" +
		"- **last**\n" +
		"\n" +
		"9. nine\n" +
		"10. ten two three four five six seven eight\n"
	got := onScreen(proseOn(30, func(w *prose) { w.write(1, source) }))
	want := `• one two three four five six
  seven eight nine

  • nested one two three four
    five six seven
    1. deeper one two three
       four five six

• [x] done

  A second paragraph of it
  that goes on beyond.

    x := 1

• last

9. nine
10. ten two three four five
    six seven eight

`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	deep := strings.Repeat("- ", 1000) + "end\n"
	if got := proseOn(40, func(w *prose) { w.write(1, deep) }); !strings.Contains(got, "end") {
		t.Error("lists in lists in lists lose their text")
	}
	if got := onScreen(proseOn(40, func(w *prose) { w.write(1, "-\ttab\n\tand on\n") })); got != "• tab and on\n\n" {
		t.Errorf("with tabs the list is %q", got)
	}
}
