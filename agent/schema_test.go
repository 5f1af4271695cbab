package agent_test

import (
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/agent"
)

type (
	leafType struct {
		Tags []string  `json:"tags"`
		When time.Time `json:"when"`
	}
	nestedType struct {
		Leaf  leafType             `json:"leaf"`
		More  []*leafType          `json:"more,omitempty"`
		ByKey map[string]*leafType `json:"byKey,omitempty"`
	}
	treeType struct {
		Name     string      `json:"name"`
		Children []*treeType `json:"children,omitempty"`
	}
)

// TestSchemaHoldsNoReferences checks that schemas contain no references, as providers require for
// parameters of a tool, and that they accept valid values only.
func TestSchemaHoldsNoReferences(t *testing.T) {
	for name, schema := range map[string]string{
		"a struct": string(agent.Schema[leafType]()), "a pointer": string(agent.Schema[*leafType]()),
		"a nested struct": string(agent.Schema[nestedType]()),
	} {
		if strings.Contains(schema, "$ref") || strings.Contains(schema, "$defs") || !strings.Contains(schema, `"type":"object"`) || !strings.Contains(schema, `"tags"`) {
			t.Errorf("the schema of %s is %s", name, schema)
		}
	}
	for in, fits := range map[string]bool{
		`{"leaf":{"tags":["a"],"when":"2026-01-02T03:04:05Z"}}`: true, `{"leaf":{"tags":[1],"when":"2026-01-02T03:04:05Z"}}`: false, `{}`: false,
		`{"leaf":{"tags":[],"when":"2026-01-02T03:04:05Z"},"more":[{"tags":"x"}]}`: false,
	} {
		if err := validate(t, agent.Schema[nestedType](), in); (err == nil) != fits {
			t.Errorf("%s gives %v", in, err)
		}
	}
	// A type that contains itself needs a reference, but the root is an object.
	tree := agent.Schema[treeType]()
	if !strings.Contains(string(tree), `"type":"object"`) || strings.HasPrefix(string(tree), `{"$ref"`) {
		t.Errorf("the schema of a tree is %s", tree)
	}
	if err := validate(t, tree, `{"name":"a","children":[{"name":"b","children":[{"name":1}]}]}`); err == nil {
		t.Error("a tree with a wrong leaf fits")
	}
	for name, schema := range map[string]string{
		"int": string(agent.Schema[int]()), "[]string": string(agent.Schema[[]string]()), "any": string(agent.Schema[any]()),
		"map": string(agent.Schema[map[string]int]()), "struct{}": string(agent.Schema[struct{ N int }]()),
	} {
		if strings.Contains(schema, "$ref") {
			t.Errorf("the schema of %s is %s", name, schema)
		}
	}
}
