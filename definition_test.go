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

// TestNetworkOfAConfig checks that a merge keeps the stricter value of Net. CheckNet accepts open,
// loopback, none and no value.
func TestNetworkOfAConfig(t *testing.T) {
	for _, c := range []struct{ definition, start, want string }{
		{"", "", ""}, {"none", "open", "none"}, {"none", "", "none"}, {"", "loopback", "loopback"}, {"loopback", "none", "none"}, {"loopback", "open", "loopback"},
	} {
		if got := (perdure.AgentConfig{Net: c.definition}).Merge(perdure.AgentConfig{Net: c.start}).Net; got != c.want {
			t.Errorf("%q and %q: %q, want %q", c.definition, c.start, got, c.want)
		}
	}
	for net, ok := range map[string]bool{"": true, "open": true, "loopback": true, "none": true, "None": false, "lan": false} {
		if err := (perdure.AgentConfig{Net: net}).CheckNet(); (err == nil) != ok {
			t.Errorf("%q: %v", net, err)
		}
	}
}

// TestAnUnknownNetworkStaysInAMerge checks that a merge keeps an unknown value of Net, so that
// CheckNet refuses it.
func TestAnUnknownNetworkStaysInAMerge(t *testing.T) {
	for _, net := range []string{"", "open", "loopback", "none"} {
		for _, c := range []perdure.AgentConfig{(perdure.AgentConfig{Net: net}).Merge(perdure.AgentConfig{Net: "lan"}), (perdure.AgentConfig{Net: "lan"}).Merge(perdure.AgentConfig{Net: net})} {
			if c.CheckNet() == nil {
				t.Errorf("lan merged with %q is %q", net, c.Net)
			}
		}
	}
}
