package terminal

import "testing"

// TestTextHangsBesideItsHead checks that the text beside a label is wrapped in its own column, and
// that a line that fits is not wrapped.
func TestTextHangsBesideItsHead(t *testing.T) {
	for _, c := range []struct {
		head, text string
		width      int
		want       string
	}{
		{"/x", "one two three", 0, "/x    one two three"},
		{"/x", "one two three", 80, "/x    one two three"},
		{"/x", "one two three", 13, "/x    one two\n      three"},
		{"/longer", "one", 80, "/longer one"},
	} {
		if got := Hanging(c.head, 6, c.text, c.width); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
	for width, want := range map[int]string{0: "漢字 x", 6: "漢字 x", 5: "漢字…", 4: "漢…"} {
		if got := Cut("漢字 x", width); got != want {
			t.Errorf("cut to %d it is %q, want %q", width, got, want)
		}
	}
}
