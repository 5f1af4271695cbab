package perdure

import (
	"strings"
	"testing"
)

func TestOrgIDsFitIntoURLs(t *testing.T) {
	for id, ok := range map[string]bool{
		DefaultOrg: true, "a": true, "0-1_x": true, strings.Repeat("a", 63): true,
		"": false, "A": false, "-a": false, "_a": false, "a/b": false, "a b": false, "ä": false, "a\n": false, ".": false, strings.Repeat("a", 64): false,
	} {
		if err := CheckOrgID(id); (err == nil) != ok || err != nil && !IsCode(err, InvalidArgument) {
			t.Errorf("%q: %v", id, err)
		}
	}
}
