package runs

import (
	"strings"
	"testing"
)

func TestTitleIsOneShortLine(t *testing.T) {
	if got, want := titleOf("  Find out\n why\x1b[2J it fails "), "Find out why it fails"; got != want {
		t.Errorf("%q, not %q", got, want)
	}
	long := titleOf(strings.Repeat("ä ", 200))
	if n := len([]rune(long)); n > longestTitle || !strings.HasSuffix(long, "ä…") {
		t.Errorf("%d characters: %s", n, long)
	}
}
