package rules

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
)

// everything is a webhook that subscribes to every event.
var everything = &perdure.Webhook{ID: uuid.New(), Org: "acme", Events: []string{"*"}, Enabled: true}

// TestDeliveriesHoldNoText checks the deliveries of events of all types. The events have texts in
// JSON members with arbitrary names. A delivery contains only the members that its event type
// declares.
func TestDeliveriesHoldNoText(t *testing.T) {
	const secret = "text of a conversation"
	delivered := map[perdure.EventType]bool{}
	for _, e := range perdure.WebhookEvents() {
		delivered[e.Type] = true
		for from := range e.Members {
			if slices.Contains([]string{"prompt", "reason", "value", "answer", "error", "message", "content", "text", "input", "output", "arguments", "details", "wait"}, from) &&
				(e.Type != perdure.EventWaiting || from != "reason") {
				t.Errorf("%s delivers the member %s", e.Type, from)
			}
		}
	}
	for _, never := range []perdure.EventType{perdure.EventEntry, perdure.EventToken, perdure.EventThinking, perdure.EventTerminal, perdure.EventData, perdure.EventSignal, perdure.EventError, perdure.EventCheckpoint, perdure.EventTaskCompleted} {
		if delivered[never] {
			t.Errorf("%s is delivered", never)
		}
	}
	types := slices.Clone(perdure.EventTypes)
	for _, e := range perdure.WebhookEvents() {
		types = append(types, e.Type)
	}
	slices.Sort(types)
	for _, of := range slices.Compact(types) {
		d := begin(&store.State{
			Now: perdure.AtMilli(1_700_000_000_123), Nonce: 7, Webhooks: []*perdure.Webhook{everything},
			Execution: &perdure.Execution{ID: uuid.New(), Org: "acme", Kind: "agent", Status: perdure.StatusRunning, Input: json.RawMessage(`"` + secret + `"`)},
		})
		members := map[string]any{}
		for _, name := range []string{"prompt", "value", "answer", "error", "message", "text", "input", "output", "details", "wait", "kind of something"} {
			members[name] = secret
		}
		members["code"], members["questionId"] = "internal", "q"
		d.event(of, perdure.Place{}, members)
		changes := d.done(nil)
		if (len(changes.Deliveries) == 1) != delivered[of] {
			t.Errorf("%s has %d deliveries", of, len(changes.Deliveries))
		}
		for _, one := range changes.Deliveries {
			if strings.Contains(string(one.Payload), secret) {
				t.Errorf("%s delivers %s", of, one.Payload)
			}
			if !json.Valid(one.Payload) || one.EventType != of || one.ID.Version() != 7 || one.ID.Variant() != uuid.RFC4122 {
				t.Errorf("%s has the delivery %+v", of, one)
			}
		}
	}
}

// TestEventIDs checks that an event gets the same id each time, and that ids of different events
// differ and increase with time.
func TestEventIDs(t *testing.T) {
	x, other := uuid.New(), uuid.New()
	of := func(x uuid.UUID, seq int64, nonce uint32, ms int64) uuid.UUID {
		d := begin(&store.State{Execution: &perdure.Execution{ID: x}})
		return d.eventID(&perdure.Record{Seq: seq, Nonce: nonce, CreatedAt: perdure.AtMilli(ms)})
	}
	one := of(x, 1, 2, 1000)
	if one != of(x, 1, 2, 1000) {
		t.Error("an event has two ids")
	}
	for what, id := range map[string]uuid.UUID{"execution": of(other, 1, 2, 1000), "seq": of(x, 2, 2, 1000), "nonce": of(x, 1, 3, 1000)} {
		if id == one || id.String()[:13] != one.String()[:13] {
			t.Errorf("another %s has the id %s, and %s", what, id, one)
		}
	}
	if later := of(x, 1, 2, 1001); later.String() <= one.String() {
		t.Errorf("a later event has the id %s after %s", later, one)
	}
}
