package perdure_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/perdure/perdure"
)

// TestMembersAreTakenByTheirExactNames checks that DecodeExactly accepts members only by their
// exact names, at every depth. CheckExactNames also accepts unknown members, unless their names
// differ only in case from the name of a field.
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
		`{"name":7}`:                                  "at.name",
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

// TestDecodeExactlyNamesTypes checks that the error for a value of the wrong type names the member
// and both types, in the words of JSON.
func TestDecodeExactlyNamesTypes(t *testing.T) {
	type inner struct {
		Count int      `json:"count"`
		Names []string `json:"names"`
	}
	for raw, want := range map[string]string{
		`{"text":5}`:                "root.text: is of type number, but must be a string",
		`{"on":"yes"}`:              "root.on: is of type string, but must be true or false",
		`{"inner":{"count":1.5}}`:   "root.inner.count: is of type number 1.5, but must be a whole number",
		`{"inner":{"names":"one"}}`: "root.inner.names: is of type string, but must be an array",
		`{"inner":[]}`:              "root.inner: is of type array, but must be an object",
		`7`:                         "root: is of type number, but must be an object",
	} {
		var v struct {
			Text  string `json:"text"`
			On    bool   `json:"on"`
			Inner inner  `json:"inner"`
		}
		err := perdure.DecodeExactly("root", []byte(raw), &v)
		if !perdure.IsCode(err, perdure.InvalidArgument) || !strings.Contains(err.Error(), strings.Replace(want, ": ", " ", 1)) && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", raw, err, want)
		}
	}
}
