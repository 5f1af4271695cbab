package rules

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// deliver adds a delivery for each new event and each webhook that subscribes to it.
func (d *draft) deliver() {
	if len(d.s.Webhooks) == 0 {
		return
	}
	for i := range d.c.Records {
		r := &d.c.Records[i]
		event := perdure.WebhookEventOf(r.Type)
		if event == nil || r.Chunk != nil {
			continue
		}
		var payload json.RawMessage
		for _, w := range d.s.Webhooks {
			if !w.Wants(r.Type) {
				continue
			}
			if payload == nil {
				payload = d.payload(event, r)
			}
			d.c.Deliveries = append(d.c.Deliveries, NewDelivery(w, d.eventID(r), r.Type, r.CreatedAt, payload))
		}
	}
	if len(d.c.Deliveries) > 0 {
		d.hint(Hint{Kind: HintDeliveries})
	}
}

// NewDelivery returns a delivery whose first attempt is due at once.
func NewDelivery(w *perdure.Webhook, id uuid.UUID, t perdure.EventType, at perdure.Time, payload json.RawMessage) *perdure.Delivery {
	return &perdure.Delivery{
		ID: id, WebhookID: w.ID, Org: w.Org, EventType: t, Status: perdure.DeliveryPending, NextAttemptAt: &at, CreatedAt: at, Payload: payload,
	}
}

// Payload returns the body of a delivery, as Standard Webhooks defines it.
func Payload(t perdure.EventType, at perdure.Time, data map[string]any) json.RawMessage {
	raw := appendText([]byte(`{"type":`), string(t))
	raw = appendEncoded(append(raw, `,"timestamp":`...), at)
	return append(append(append(raw, `,"data":`...), fields(data)...), '}')
}

// payload returns the body of the deliveries of an event. Of the event's members it contains only
// those that the event type declares, so that no text of a conversation leaves the server.
func (d *draft) payload(event *perdure.WebhookEvent, r *perdure.Record) json.RawMessage {
	data := map[string]any{}
	if len(event.Members) > 0 && r.Fields != nil {
		var members map[string]json.RawMessage
		if json.Unmarshal(r.Fields, &members) == nil { // unreachable otherwise: the rules encode the fields
			for from, to := range event.Members {
				if value, has := members[from]; has {
					data[to] = value
				}
			}
		}
	}
	data["org"], data["agentExecutionId"], data["kind"], data["seq"] = d.x.Org, d.x.ID, d.x.Kind, r.Seq
	data["status"] = statusOf(r, d.x)
	return Payload(event.Type, r.CreatedAt, data)
}

// statusOf returns the execution's status for the delivery of an event. A lifecycle event
// determines the status itself. For any other event, it is the status at the end of the commit.
func statusOf(r *perdure.Record, x *perdure.Execution) perdure.Status {
	if of, lifecycle := lifecycleStatus[r.Type]; lifecycle {
		return of
	}
	return x.Status
}

var lifecycleStatus = map[perdure.EventType]perdure.Status{
	perdure.EventCreated: perdure.StatusPending, perdure.EventStarted: perdure.StatusRunning, perdure.EventWaiting: perdure.StatusWaiting,
	perdure.EventResumed: perdure.StatusRunning, perdure.EventCancelling: perdure.StatusCancelling, perdure.EventCompleted: perdure.StatusCompleted,
	perdure.EventFailed: perdure.StatusFailed, perdure.EventCancelled: perdure.StatusCancelled,
}

// eventID returns the id of an event for webhooks: a UUID of version 7, so that ids increase with
// time. The id is the same if the command runs again. It also depends on the event's nonce, so that
// after a restore from a backup, a new event at the same position gets another id.
func (d *draft) eventID(r *perdure.Record) uuid.UUID {
	var place [16]byte
	binary.BigEndian.PutUint64(place[:], uint64(r.Seq))
	binary.BigEndian.PutUint32(place[8:], r.Nonce)
	sum := sha256.Sum256(append(d.x.ID[:], place[:]...))
	var id uuid.UUID
	copy(id[6:], sum[:])
	millis := uint64(r.CreatedAt.UnixMilli())
	for i := range 6 {
		id[i] = byte(millis >> (8 * (5 - i)))
	}
	id[6], id[8] = id[6]&0x0f|0x70, id[8]&0x3f|0x80
	return id
}
