package openai_test

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// shapes are OpenAI's published JSON Schemas of responses and events.
type shapes struct {
	response, compaction *jsonschema.Schema

	events map[string]*jsonschema.Schema // by the type of the event
}

var published = sync.OnceValues(func() (*shapes, error) {
	raw, err := os.ReadFile("testdata/openresponses.json")
	if err != nil {
		return nil, err
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("openresponses.json", doc); err != nil {
		return nil, err
	}
	at := func(name string) string { return "openresponses.json#/components/schemas/" + name }
	s := &shapes{events: map[string]*jsonschema.Schema{}}
	if s.response, err = c.Compile(at("ResponseResource")); err != nil {
		return nil, err
	}
	if s.compaction, err = c.Compile(at("CompactResource")); err != nil {
		return nil, err
	}
	var names struct {
		Components struct {
			Schemas map[string]struct {
				Properties struct {
					Type struct{ Enum []string } `json:"type"`
				} `json:"properties"`
			} `json:"schemas"`
		} `json:"components"`
	}
	if err := json.Unmarshal(raw, &names); err != nil {
		return nil, err
	}
	for name, schema := range names.Components.Schemas {
		if strings.HasSuffix(name, "StreamingEvent") {
			if s.events[schema.Properties.Type.Enum[0]], err = c.Compile(at(name)); err != nil {
				return nil, err
			}
		}
	}
	return s, nil
})

// checkResponse checks a response object against the published schema.
func checkResponse(t *testing.T, raw []byte) {
	t.Helper()
	s, err := published()
	if err != nil {
		t.Fatal(err)
	}
	check(t, s.response, raw)
}

// checkEvent checks an event of a stream against the published schema.
func checkEvent(t *testing.T, kind string, raw []byte) {
	t.Helper()
	s, err := published()
	if err != nil {
		t.Fatal(err)
	}
	if strings.HasPrefix(kind, "response.mcp_call") {
		checkMCPEvent(t, raw)
		return
	}
	if s.events[kind] == nil {
		t.Errorf("%q is no published event", kind)
		return
	}
	check(t, s.events[kind], raw)
}

func check(t *testing.T, schema *jsonschema.Schema, raw []byte) {
	t.Helper()
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err == nil {
		err = schema.Validate(withoutMCP(t, withoutExceptions(v)))
	}
	if err != nil {
		t.Errorf("%v\n%s", err, raw)
	}
}
