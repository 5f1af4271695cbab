package engine

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// numbers is a schema of objects with an integer n.
const numbers = `{"type":"object","required":["n"],"properties":{"n":{"type":"integer"}}}`

// registerSignals registers signals for the kind of the executions that bench.start starts.
func (b *bench) registerSignals(specs ...perdure.SignalSpec) error {
	_, err := b.d.Register(b.Context(), perdure.Registration{
		WorkerID: uuid.New(), Queues: []string{"default"}, Agents: []perdure.KindSpec{{Kind: "agent", Signals: specs}},
	})
	return err
}

func (b *bench) signalSpec(name, schema string) perdure.SignalSpec {
	return perdure.SignalSpec{Name: name, Schema: json.RawMessage(schema)}
}

// send sends a signal with the value, inline or by reference.
func (b *bench) send(id uuid.UUID, name, signal, value string, byRef bool) (SignalReply, error) {
	r := SignalRequest{Name: name, ID: signal, Value: json.RawMessage(value)}
	if byRef {
		ref, err := b.e.PutContent(b.Context(), org, id, int64(len(value)), bytes.NewReader([]byte(value)))
		b.must(err)
		r.Value, r.Ref = nil, &ref.ID
	}
	return b.e.Signal(b.Context(), org, id, r)
}

// TestSignalValuesFitARegisteredSchema checks that the server refuses a value that fits none of the
// schemas of its signal, inline and by reference, and that the refusal changes nothing.
func TestSignalValuesFitARegisteredSchema(t *testing.T) {
	for _, byRef := range []bool{false, true} {
		t.Run(fmt.Sprintf("by reference %t", byRef), func(t *testing.T) {
			b := newBench(t)
			b.must(b.registerSignals(b.signalSpec("order.*", numbers), b.signalSpec("stop", "")))
			id := b.start()
			_, err := b.send(id, "order.1", "bad", `{"n":"x"}`, byRef)
			b.wantCode(err, perdure.InvalidArgument)
			wantField(t, err, "signalValue.n")
			if n := b.count(id, perdure.EventSignal); n != 0 {
				t.Fatalf("%d signals were stored", n)
			}
			for i, s := range []struct {
				name, value string
				unexpected  bool
			}{{"order.1", `{"n":1}`, false}, {"stop", `"any"`, false}, {"ordre.1", `"any"`, true}} {
				reply, err := b.send(id, s.name, fmt.Sprint(i), s.value, byRef)
				b.must(err)
				if reply.Unexpected != s.unexpected {
					t.Errorf("%s is unexpected: %t", s.name, reply.Unexpected)
				}
			}
		})
	}
}

// TestKindsWithoutSignalsAcceptAll checks that no signal is reported as unexpected if the
// execution's kind registers no signals. The signals that the server defines are expected by every
// kind.
func TestKindsWithoutSignalsAcceptAll(t *testing.T) {
	b := newBench(t)
	id := b.start()
	reply, err := b.send(id, "anything", "1", `1`, false)
	b.must(err)
	if reply.Unexpected {
		t.Error("it is unexpected")
	}
	b.must(b.registerSignals(b.signalSpec("a", numbers)))
	if reply, err = b.send(id, perdure.UserMessage, "2", `{"text":"hi"}`, false); err != nil || reply.Unexpected {
		t.Errorf("a message: %+v, %v", reply, err)
	}
}

// TestSignalsOfTheBuiltInAgent checks a signal whose name is none of the built-in agent's signals,
// for example because of a typo. The signal is stored, and the reply says that it is unexpected.
func TestSignalsOfTheBuiltInAgent(t *testing.T) {
	b := newBench(t)
	x, err := b.e.Start(t.Context(), org, StartRequest{UserPrompt: "hi", Models: []perdure.ModelConfig{{Provider: "scripted", ModelID: "s"}}})
	b.must(err)
	for name, unexpected := range map[string]bool{"retry": false, perdure.UserMessage: false, "userMesage": true, "retyr": true} {
		reply, err := b.send(x.ID, name, name, `{"text":"hi"}`, false)
		b.must(err)
		if reply.Unexpected != unexpected {
			t.Errorf("%s is unexpected: %t", name, reply.Unexpected)
		}
	}
}

// TestARepeatedSignalIsNotComparedAgain checks that a repeated request returns the stored signal,
// although the value no longer fits a registered schema.
func TestARepeatedSignalIsNotComparedAgain(t *testing.T) {
	b := newBench(t)
	id := b.start()
	_, err := b.send(id, "a", "s1", `"text"`, false)
	b.must(err)
	b.must(b.registerSignals(b.signalSpec("a", numbers)))
	_, err = b.send(id, "a", "s1", `"text"`, false)
	b.must(err)
	_, err = b.send(id, "a", "s2", `"text"`, false)
	b.wantCode(err, perdure.InvalidArgument)
}

// TestSchemasOfOlderBuildsCountForADay checks that a value is accepted if it fits the newest schema
// of its signal, or one that another build of a worker has registered within the last 24 hours.
func TestSchemasOfOlderBuildsCountForADay(t *testing.T) {
	b := newBench(t)
	id := b.start()
	texts := b.signalSpec("a", `{"type":"string"}`)
	n := 0
	accepts := func(value string) bool {
		n++
		_, err := b.send(id, "a", fmt.Sprint(n), value, false)
		return err == nil
	}
	b.must(b.registerSignals(texts))
	b.clock.advance(23 * time.Hour)
	b.must(b.registerSignals(b.signalSpec("a", numbers)))
	if !accepts(`{"n":1}`) || !accepts(`"text"`) || accepts(`true`) {
		t.Error("after 23 hours not exactly the values of both builds are accepted")
	}
	b.clock.advance(2 * time.Hour)
	b.must(b.registerSignals(b.signalSpec("a", numbers)))
	if !accepts(`{"n":1}`) || accepts(`"text"`) {
		t.Error("after 25 hours not exactly the values of the newer build are accepted")
	}
	b.must(b.registerSignals(texts)) // a worker of the older build is back
	if !accepts(`{"n":1}`) || !accepts(`"text"`) {
		t.Error("the values of both builds are not accepted again")
	}
}

// TestSignalsOfKindsAreChecked checks that a registration with invalid signals is refused, and that
// it changes nothing.
func TestSignalsOfKindsAreChecked(t *testing.T) {
	b := newBench(t)
	var many []perdure.SignalSpec
	for i := range perdure.MaxSignalSpecs + 1 {
		many = append(many, b.signalSpec(fmt.Sprint("s", i), ""))
	}
	large := `{"description":"` + strings.Repeat("x", 60<<10) + `"}`
	for name, specs := range map[string][]perdure.SignalSpec{
		"too many":     many,
		"no name":      {b.signalSpec("", "")},
		"a bad name":   {b.signalSpec("a..b", "")},
		"a name twice": {b.signalSpec("a", ""), b.signalSpec("a", numbers)},
		"no JSON":      {b.signalSpec("a", `{`)},
		"no schema":    {b.signalSpec("a", `{"type":"nothing"}`)},
		"a key twice":  {b.signalSpec("a", `{"type":"string","type":"number"}`)},
		"too large": {
			b.signalSpec("a", large), b.signalSpec("b", large), b.signalSpec("c", large), b.signalSpec("d", large), b.signalSpec("e", large),
		},
	} {
		if err := b.registerSignals(specs...); !perdure.IsCode(err, perdure.InvalidArgument) || !strings.Contains(err.Error(), "signals") {
			t.Errorf("%s gives %v", name, err)
		}
	}
	if known, err := b.e.Kinds.Stored(t.Context(), org, "agent"); err != nil || len(known.Signals) > 0 {
		t.Errorf("the kind has %+v, %v", known, err)
	}
}
