package perdure_test

import (
	"errors"
	"testing"

	"github.com/perdure/perdure"
)

// DecodeExactly accepts members only by their exact names, at every depth. CheckExactNames also
// accepts members whose names are unlike any of the type's.
func TestMembersAreTakenByTheirExactNames(t *testing.T) {
	for raw, want := range map[string]string{
		`{"name":"a","models":[{"provider":"p","modelId":"m","baseUrl":"u"}],"config":{"maxTurns":1},"metadata":{"Name":1}}`: "",
		`{"Name":"a"}`:                                "at.Name",
		`{"name":"a","NAME":"b"}`:                     "at.NAME",
		`{"models":[{"provider":"p","modelID":"m"}]}`: "at.models[0].modelID",
		`{"config":{"MaxTurns":1}}`:                   "at.config.MaxTurns",
		`{"\u017flug":"a"}`:                           "at.ſlug",
		`{"nothing":1}`:                               "at.nothing",
		`{"name":"a","name":"b"}`:                     "at.name",
		`{"name":7}`:                                  "at",
		`{`:                                           "at",
	} {
		var d perdure.Definition
		err := perdure.DecodeExactly("at", []byte(raw), &d)
		var e *perdure.Error
		if errors.As(err, &e) != (want != "") || want != "" && e.Fields[0].Location != want {
			t.Errorf("%s: %v, want an error at %q", raw, err, want)
		}
	}
	if err := perdure.CheckExactNames("at", []byte(`{"nothing":1,"models":[{"more":1}]}`), perdure.Definition{}); err != nil {
		t.Errorf("members that are like none: %v", err)
	}
	if err := perdure.CheckExactNames("at", []byte(`{"models":[{"Provider":"p"}]}`), perdure.Definition{}); err == nil {
		t.Error("a name in another case is taken")
	}
}
