package engine

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/rules"
	"github.com/perdure/perdure/internal/schema"
	"github.com/perdure/perdure/internal/store"
)

// hostileSchemas returns schemas whose compilation or validation would take far too long.
func hostileSchemas() map[string]string {
	var doubled strings.Builder
	for i := range 32 {
		fmt.Fprintf(&doubled, `"d%d":{"allOf":[{"$ref":"#/$defs/d%d"},{"$ref":"#/$defs/d%d"}]},`, i, i+1, i+1)
	}
	return map[string]string{
		"doubled": `{"$ref":"#/$defs/d0","$defs":{` + doubled.String() + `"d32":{"type":"object"}}}`,
		"nested":  strings.Repeat(`{"not":`, 1000) + `{}` + strings.Repeat(`}`, 1000),
		"number":  `{"multipleOf":1e-999999}`,
		"pattern": `{"pattern":"` + strings.Repeat(`(a|b){500}`, 40) + `"}`,
	}
}

func TestASchemaOverALimitIsRefusedAtRegistration(t *testing.T) {
	b := newBench(t)
	for name, raw := range hostileSchemas() {
		spec := []perdure.KindSpec{{Kind: "fine"}, {Kind: "hostile", InputSchema: json.RawMessage(raw)}}
		for field, r := range map[string]perdure.Registration{"agents[1].inputSchema": {Agents: spec}, "tasks[1].inputSchema": {Tasks: spec}} {
			_, err := b.d.Register(t.Context(), r)
			b.wantCode(err, perdure.InvalidArgument)
			if !strings.Contains(fmt.Sprint(err), field) || !strings.Contains(fmt.Sprint(err), "hostile") {
				t.Errorf("%s: %v names neither %s nor the kind", name, err, field)
			}
		}
	}
	kinds, err := b.s.Kinds(t.Context(), org)
	b.must(err)
	for _, k := range kinds {
		if k.Spec.Kind == "hostile" || k.Spec.Kind == "fine" {
			t.Errorf("a refused registration has stored %s", k.Spec.Kind)
		}
	}
}

// TestAStoredSchemaOverALimitIsNotRun checks that a start is refused if the stored schema of its kind
// exceeds a limit. Such a schema can only come from an older server, which had no limits.
func TestAStoredSchemaOverALimitIsNotRun(t *testing.T) {
	b := newBench(t)
	for name, raw := range hostileSchemas() {
		_, err := b.e.one(t.Context(), store.Command{
			Name: "register", Lane: store.LaneCommits, Org: org, Execution: uuid.Nil,
			Decide: func(s *store.State) (*store.Changes, error) {
				spec := perdure.KindSpec{Kind: name, InputSchema: json.RawMessage(raw)}
				return &store.Changes{Kinds: []store.Kind{{Org: org, Agent: true, Spec: spec, SeenAt: s.Now}}, Answer: &rules.Decision{}}, nil
			},
		})
		b.must(err)
		b.must(b.s.Close())
		b.open() // as after an upgrade
		_, err = b.e.Start(t.Context(), org, StartRequest{Kind: name, Input: json.RawMessage(`{"a":1}`)})
		b.wantCode(err, perdure.InvalidArgument)
		if !strings.Contains(fmt.Sprint(err), "kind: "+name) {
			t.Errorf("%s: %v does not name the kind", name, err)
		}
	}
}

// TestAnInputThatTakesTooManyStepsIsRefused checks that a start is refused if the validation of its
// input takes more steps than the limit. The schema itself is small.
func TestAnInputThatTakesTooManyStepsIsRefused(t *testing.T) {
	b := newBench(t)
	specs := []perdure.KindSpec{
		{Kind: "spread", InputSchema: json.RawMessage(`{"anyOf":[{"items":{"$ref":"#"}},{"items":{"$ref":"#"}}]}`)},
		{Kind: "whole", InputSchema: json.RawMessage(`{"items":{"type":"integer"}}`)},
	}
	_, err := b.d.Register(t.Context(), perdure.Registration{WorkerID: uuid.New(), Queues: []string{"default"}, Agents: specs})
	b.must(err)
	for kind, input := range map[string]string{
		"spread": strings.Repeat("[", 40) + strings.Repeat("]", 40),
		"whole":  `[1e1000000]`,
	} {
		_, err := b.e.Start(t.Context(), org, StartRequest{Kind: kind, Input: json.RawMessage(input)})
		b.wantCode(err, perdure.InvalidArgument)
		if !strings.Contains(fmt.Sprint(err), "input: ") {
			t.Errorf("%s: %v does not name the input", kind, err)
		}
		if _, err := b.e.Start(t.Context(), org, StartRequest{Kind: kind, Input: json.RawMessage(`[1]`)}); kind == "whole" && err != nil {
			t.Error(err)
		}
	}
}

// TestAnErrorOfASchemaIsShort checks that the error of an invalid input repeats only a short part
// of the input.
func TestAnErrorOfASchemaIsShort(t *testing.T) {
	b := newBench(t)
	_, err := b.d.Register(t.Context(), perdure.Registration{Agents: []perdure.KindSpec{{Kind: "k", InputSchema: json.RawMessage(`{"pattern":"^b"}`)}}})
	b.must(err)
	_, err = b.e.Start(t.Context(), org, StartRequest{Kind: "k", Input: json.RawMessage(`"` + strings.Repeat("aé", 10_000) + `"`)})
	b.wantCode(err, perdure.InvalidArgument)
	if n := len(fmt.Sprint(err)); n > 3*schema.MaxSaid {
		t.Errorf("an error of %d bytes", n)
	}
}
