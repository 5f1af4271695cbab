package setup

import (
	"testing"
)

func TestShellWord(t *testing.T) {
	for word, want := range map[string]string{"/a-b/c.d": "/a-b/c.d", "a b": "'a b'", "it's $HOME": `'it'\''s $HOME'`} {
		if got := ShellWord(word); got != want {
			t.Errorf("%s: %s", word, got)
		}
	}
}
