package e2e

import (
	"path"
	"testing"
)

// pendingCases are those that do not pass yet, as patterns of client/case, and
// what each waits for. A case that passes fails its test until no pattern takes it
// in.
var pendingCases = []struct{ pattern, reason string }{
}

// pendingCase returns the pattern that takes the case in, and its reason.
func pendingCase(client, name string) (pattern, reason string) {
	for _, p := range pendingCases {
		if ok, _ := path.Match(p.pattern, client+"/"+name); ok {
			return p.pattern, p.reason
		}
	}
	return "", ""
}

// No pattern is left that takes nothing in.
func TestPendingCasesExist(t *testing.T) {
	clients := []string{"openai-go"}
	for name := range scriptedClients {
		clients = append(clients, name)
	}
	for _, p := range pendingCases {
		found := false
		for _, client := range clients {
			for _, c := range clientCases() {
				ok, err := path.Match(p.pattern, client+"/"+c.Name)
				if err != nil {
					t.Fatal(err)
				}
				found = found || ok
			}
		}
		if !found {
			t.Errorf("there is no case %s", p.pattern)
		}
	}
}
