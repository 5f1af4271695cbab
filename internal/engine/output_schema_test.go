package engine

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// registerOutputs registers the agent, and the task kind "work", with an output schema. If schema
// is "", it registers them without one.
func (b *bench) registerOutputs(schema string) {
	b.Helper()
	var raw json.RawMessage
	if schema != "" {
		raw = json.RawMessage(schema)
	}
	_, err := b.d.Register(b.Context(), perdure.Registration{
		WorkerID: uuid.New(), Queues: []string{"default"},
		Agents: []perdure.KindSpec{{Kind: "agent", OutputSchema: raw}}, Tasks: []perdure.KindSpec{{Kind: "work", OutputSchema: raw}},
	})
	b.must(err)
}

// complete completes the execution with the output, inline or by reference.
func (h *holder) complete(output string, byRef bool) error {
	h.Helper()
	out := perdure.Inline(json.RawMessage(output))
	if byRef {
		out = perdure.Payload{Blob: h.upload(perdure.BlobOwner{ExecutionID: h.id, Lease: &h.claim.Lease}, []byte(output))}
	}
	_, err := h.try(func(c *perdure.Commit) { c.Outcome = perdure.Outcome{Kind: perdure.OutcomeComplete, Output: out} })
	return err
}

// TestOutputsFitARegisteredSchema checks that the server refuses an output that fits no output
// schema of the kind, inline and by reference, and that the refusal changes nothing.
func TestOutputsFitARegisteredSchema(t *testing.T) {
	for _, byRef := range []bool{false, true} {
		t.Run(fmt.Sprintf("by reference %t", byRef), func(t *testing.T) {
			b := newBench(t)
			b.clock.advance(25 * time.Hour) // the registration of newBench has no schema
			b.registerOutputs(numbers)
			h := b.started()
			err := h.complete(`{"n":"x"}`, byRef)
			b.wantCode(err, perdure.InvalidArgument)
			wantField(t, err, "outcome.output.n")
			b.wantStatus(h.id, perdure.StatusRunning)
			b.must(h.complete(`{"n":1}`, byRef))
			b.wantStatus(h.id, perdure.StatusCompleted)
		})
	}
}

// TestResultsFitARegisteredSchema checks that the server refuses a task result that fits no output
// schema of the task's kind.
func TestResultsFitARegisteredSchema(t *testing.T) {
	for _, byRef := range []bool{false, true} {
		t.Run(fmt.Sprintf("by reference %t", byRef), func(t *testing.T) {
			b := newBench(t)
			b.clock.advance(25 * time.Hour)
			b.registerOutputs(numbers)
			h := b.started()
			ids := h.schedule("1")
			claim := b.taskClaim()
			finish := func(result string) error {
				f := done(claim, result)
				if byRef {
					f.Result = perdure.Payload{Blob: h.upload(perdure.BlobOwner{ExecutionID: h.id, TaskLease: &claim.Lease}, []byte(result))}
				}
				f.WorkerID = b.worker
				_, err := b.d.FinishTask(b.Context(), f)
				return err
			}
			err := finish(`{"n":"x"}`)
			b.wantCode(err, perdure.InvalidArgument)
			wantField(t, err, "result.n")
			if task := b.task(h.id, ids[0]); task.Status != perdure.TaskRunning {
				t.Fatalf("the task is %s", task.Status)
			}
			b.must(finish(`{"n":1}`))
			if task := b.task(h.id, ids[0]); task.Status != perdure.TaskCompleted {
				t.Fatalf("the task is %s", task.Status)
			}
		})
	}
}

// TestOutputsOfOlderBuildsCountForADay checks that an output is accepted if it fits the newest
// output schema of its kind, or one that another build of a worker has registered within the last
// 24 hours. If such a build registered no schema, every output is accepted.
func TestOutputsOfOlderBuildsCountForADay(t *testing.T) {
	for name, c := range map[string]struct {
		older, newer string
		after        time.Duration
		accepted     map[string]bool
	}{
		"both builds":              {`{"type":"string"}`, numbers, 23 * time.Hour, map[string]bool{`"a"`: true, `{"n":1}`: true, `true`: false}},
		"only the newer":           {`{"type":"string"}`, numbers, 25 * time.Hour, map[string]bool{`"a"`: false, `{"n":1}`: true, `true`: false}},
		"an older without schema":  {"", numbers, 23 * time.Hour, map[string]bool{`"a"`: true, `true`: true}},
		"only the newer's schema":  {"", numbers, 25 * time.Hour, map[string]bool{`"a"`: false, `{"n":1}`: true}},
		"a newer without schema":   {numbers, "", 0, map[string]bool{`"a"`: true, `{"n":1}`: true}},
		"the same build once more": {numbers, numbers, 25 * time.Hour, map[string]bool{`"a"`: false, `{"n":1}`: true}},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.clock.advance(25 * time.Hour) // the registration of newBench has no schema
			b.registerOutputs(c.older)
			b.clock.advance(c.after)
			b.registerOutputs(c.newer)
			for output, want := range c.accepted {
				err := b.started().complete(output, false)
				if want {
					b.must(err)
					continue
				}
				b.wantCode(err, perdure.InvalidArgument)
				b.clock.advance(time.Hour) // the lease expires, so that the next claim is another execution
			}
		})
	}
}

// TestANewSchemaCountsAtOnce checks that an output that fits only a schema that was registered a
// moment ago is accepted, although the server caches the schemas.
func TestANewSchemaCountsAtOnce(t *testing.T) {
	b := newBench(t)
	b.clock.advance(25 * time.Hour)
	b.registerOutputs(numbers)
	b.must(b.started().complete(`{"n":1}`, false))
	b.registerOutputs(`{"type":"string"}`)
	b.must(b.started().complete(`"text"`, false))
}

// TestKnownOutputsAreBounded checks that the store keeps only the 20 output schemas of a kind that
// were registered last.
func TestKnownOutputsAreBounded(t *testing.T) {
	b := newBench(t)
	for i := range 50 {
		b.registerOutputs(fmt.Sprintf(`{"const":%d}`, i))
	}
	known, err := b.e.Kinds.Stored(t.Context(), org, "agent")
	b.must(err)
	if len(known.Outputs) != 20 || string(known.Outputs[0].Schema) != `{"const":49}` {
		t.Errorf("the kind has %d schemas, the first %s", len(known.Outputs), known.Outputs[0].Schema)
	}
}

// TestOutputSchemasAndTagsAreChecked checks that a registration with an invalid output schema or
// tag is refused.
func TestOutputSchemasAndTagsAreChecked(t *testing.T) {
	b := newBench(t)
	many := strings.Split(strings.TrimSuffix(strings.Repeat("t,", perdure.MaxTags+1), ","), ",")
	for name, spec := range map[string]perdure.KindSpec{
		"outputSchema: no JSON":   {OutputSchema: json.RawMessage(`{`)},
		"outputSchema: no schema": {OutputSchema: json.RawMessage(`{"type":"nothing"}`)},
		"outputSchema: twice":     {OutputSchema: json.RawMessage(`{"type":"string","type":"number"}`)},
		"tags: empty":             {Tags: []string{""}},
		"tags: long":              {Tags: []string{strings.Repeat("x", perdure.MaxTagBytes+1)}},
		"tags: comma":             {Tags: []string{"a,b"}},
		"tags: space":             {Tags: []string{"a b"}},
		"tags: twice":             {Tags: []string{"a", "a"}},
		"tags: many":              {Tags: many},
		"tags: no text":           {Tags: []string{"a\x00"}},
	} {
		spec.Kind = "agent"
		_, err := b.d.Register(t.Context(), perdure.Registration{WorkerID: uuid.New(), Queues: []string{"default"}, Agents: []perdure.KindSpec{spec}})
		field, _, _ := strings.Cut(name, ":")
		if !perdure.IsCode(err, perdure.InvalidArgument) || !strings.Contains(err.Error(), field) {
			t.Errorf("%s gives %v", name, err)
		}
	}
}

// TestSchemasAreOneHoweverTheyAreWritten checks that a schema that is registered again is not
// stored twice, although the store has it in another form: without blanks and with other escapes.
func TestSchemasAreOneHoweverTheyAreWritten(t *testing.T) {
	b := newBench(t)
	const schema = `{ "type": "string", "description": "<b> & more" }`
	for range 3 {
		b.registerOutputs(schema)
		b.must(b.registerSignals(b.signalSpec("go", schema)))
	}
	k, err := b.e.Kinds.Stored(t.Context(), org, "agent")
	b.must(err)
	if len(k.Signals) != 1 {
		t.Errorf("%d signals are known", len(k.Signals))
	}
	for range 3 {
		b.registerOutputs(schema)
	}
	if k, err = b.e.Kinds.Stored(t.Context(), org, "agent"); err != nil || len(k.Outputs) > 2 { // the registered schema, and the entry of the builds without one
		t.Errorf("%d output schemas are known, %v", len(k.Outputs), err)
	}
}
