package catalog

import (
	"reflect"
	"strings"
	"testing"

	"github.com/perdure/perdure/internal/store/sql/statement"
)

// TestDeclarationsAgree checks that statements with the same text have the same declaration, and
// that no query that can run for many rows of parameters locks rows.
func TestDeclarationsAgree(t *testing.T) {
	byText := map[string]*statement.Statement{}
	for _, s := range statement.Declared() {
		if same := byText[s.Text()]; same != nil && !reflect.DeepEqual(same.Group(), s.Group()) {
			t.Errorf("%s is declared as %+v and as %+v", s.Text(), same.Group(), s.Group())
		}
		byText[s.Text()] = s
		for _, lock := range []string{" FOR UPDATE", " FOR NO KEY UPDATE", " FOR SHARE", " FOR KEY SHARE"} {
			if s.Group() != nil && strings.Contains(s.Text(), lock) {
				t.Errorf("%s locks rows and does not run alone", s.Text())
			}
		}
	}
	if len(byText) < 150 {
		t.Errorf("only %d statements are declared", len(byText))
	}
}
