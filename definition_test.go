package perdure_test

import (
	"testing"

	"github.com/perdure/perdure"
)

func TestHidePassword(t *testing.T) {
	for address, want := range map[string]string{
		"": "", "http://127.0.0.1:8080": "http://127.0.0.1:8080", "127.0.0.1:8080": "127.0.0.1:8080",
		"http://me:pw@host:1/x":   "http://...@host:1/x",
		"http://me:p@w@host":      "http://...@host",
		"http://me:p/w@host":      "http://...@host",
		"me:pw@host":              "...@host",
		"http://host/?key=pw":     "http://host/?...",
		"http://host/?key=p@w":    "http://host/?...",
		"http://me:pw@host?key=x": "http://...@host?...",
		"http://me:p%zz@host=KEY": "http://...@host=KEY",
	} {
		if got := perdure.HidePassword(address); got != want {
			t.Errorf("%q is shown as %q, want %q", address, got, want)
		}
	}
}
