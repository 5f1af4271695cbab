package listing

import (
	"reflect"
	"testing"

	"github.com/perdure/perdure/internal/store"
)

// TestFilterCombinationsHaveEveryField checks that every field of ExecutionFilter is combined with
// every other one.
func TestFilterCombinationsHaveEveryField(t *testing.T) {
	all := filterCombinations()
	fields := reflect.TypeFor[store.ExecutionFilter]()
	for a := range fields.NumField() {
		for b := range a {
			if fields.Field(a).Name == "Limit" || fields.Field(b).Name == "Limit" || fields.Field(a).Name == "Cursor" || fields.Field(b).Name == "Cursor" {
				continue
			}
			found := false
			for _, f := range all {
				v := reflect.ValueOf(f)
				found = found || !v.Field(a).IsZero() && !v.Field(b).IsZero()
			}
			if !found {
				t.Errorf("no combination has %s and %s", fields.Field(a).Name, fields.Field(b).Name)
			}
		}
	}
}
