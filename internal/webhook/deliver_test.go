package webhook

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
)

// TestAnEventIsDelivered checks the request for an event: its signature, its type, its data, and
// that it contains nothing of the execution's contents.
func TestAnEventIsDelivered(t *testing.T) {
	each(t, func(b *bench) {
		e := newEndpoint(b, nil)
		w, secret := b.webhook(e.URL + "/hook?token=1")
		id := b.start()
		b.step()
		got := e.requests()
		if len(got) != 1 {
			b.Fatalf("%d requests, want 1", len(got))
		}
		r := got[0]
		stamp, err := strconv.ParseInt(r.timestamp, 10, 64)
		if err != nil || stamp != b.clock.Now().Unix() {
			b.Errorf("the timestamp is %q", r.timestamp)
		}
		if want := sign([][]byte{key(b, secret)}, r.id, stamp, r.body); r.signature != want {
			b.Errorf("the signature is %q, want %q", r.signature, want)
		}
		kind, data := r.event(b)
		if kind != "agent.created" || data["org"] != org || data["agentExecutionId"] != id.String() || data["kind"] != "agent" ||
			data["status"] != "PENDING" || data["seq"] != 1.0 || len(data) != 5 {
			b.Errorf("the event is %s", r.body)
		}
		if strings.Contains(string(r.body), "not to be sent") {
			b.Error("the event has the input")
		}
		d := b.only(w)
		if d.ID.String() != r.id || d.Status != perdure.DeliveryDelivered || d.Attempts != 1 || d.ResponseStatus != 200 || d.EndedAt == nil || d.NextAttemptAt != nil {
			b.Errorf("the delivery is %+v", d)
		}
		b.step()
		if n := len(e.requests()); n != 1 {
			b.Errorf("it was sent %d times", n)
		}
	})
}

// TestOnlyWantedEventsAreStored checks that an event has a delivery for each enabled webhook that
// subscribes to its type, and for no other webhook.
func TestOnlyWantedEventsAreStored(t *testing.T) {
	each(t, func(b *bench) {
		b.start()
		all, _ := b.webhook("http://127.0.0.1:1/all")
		ends, _ := b.webhook("http://127.0.0.1:1/ends", "agent.completed", "agent.cancelled")
		questions, _ := b.webhook("http://127.0.0.1:1/questions", "question.*")
		other, _ := b.webhookOf("other", "http://127.0.0.1:1/other", "*")
		off, _ := b.webhook("http://127.0.0.1:1/off", "*")
		no := false
		_, err := b.engine.ReplaceWebhook(b.Context(), org, off.ID, 0, perdure.WebhookRequest{URL: off.URL, Events: off.Events, Enabled: &no})
		b.must(err)
		id := b.start()
		_, _, err = b.engine.Cancel(b.Context(), org, id)
		b.must(err)
		for _, c := range []struct {
			w    *perdure.Webhook
			want []perdure.EventType
		}{{all, []perdure.EventType{perdure.EventCreated, perdure.EventCancelled}}, {ends, []perdure.EventType{perdure.EventCancelled}}, {questions, nil}, {other, nil}, {off, nil}} {
			var got []perdure.EventType
			for _, d := range b.deliveries(c.w) {
				got = append(got, d.EventType)
			}
			slices.Sort(got)
			slices.Sort(c.want)
			if !slices.Equal(got, c.want) {
				b.Errorf("%s has %v, want %v", c.w.URL, got, c.want)
			}
		}
	})
}

// TestFailedAttemptsAreRepeated checks all retries of the schedule. The id of the delivery remains
// the same, and a dead delivery can be sent again.
func TestFailedAttemptsAreRepeated(t *testing.T) {
	each(t, func(b *bench) {
		e := newEndpoint(b, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(500)
			_, _ = w.Write([]byte("no\x00\xff" + strings.Repeat("x", 5000)))
		})
		w, _ := b.webhook(e.URL)
		b.start()
		for i, pause := range perdure.DeliveryRetries {
			b.step()
			d := b.only(w)
			if d.Status != perdure.DeliveryPending || d.Attempts != i+1 || d.NextAttemptAt == nil || d.NextAttemptAt.Sub(b.clock.Now()) != pause {
				b.Fatalf("after attempt %d, %s: %+v", i+1, pause, d)
			}
			if d.ResponseStatus != 500 || len(d.ResponseBody) > perdure.MaxDeliveryAnswer || !strings.HasPrefix(d.ResponseBody, "no\uFFFD\uFFFDxxx") {
				b.Fatalf("the answer is stored as %d %q", d.ResponseStatus, d.ResponseBody)
			}
			b.clock.advance(pause - time.Millisecond)
			b.step()
			b.clock.advance(time.Millisecond)
		}
		b.step()
		d := b.only(w)
		if d.Status != perdure.DeliveryDead || d.Attempts != len(perdure.DeliveryRetries)+1 || d.EndedAt == nil {
			b.Fatalf("at the end: %+v", d)
		}
		got := e.requests()
		if len(got) != len(perdure.DeliveryRetries)+1 {
			b.Errorf("%d requests", len(got))
		}
		for _, r := range got {
			if r.id != got[0].id || string(r.body) != string(got[0].body) {
				b.Error("an attempt has another id or body")
			}
		}
		e.answers(status(204))
		again, err := b.engine.Resend(b.Context(), org, store.DeliveryKey{Webhook: w.ID, ID: d.ID})
		b.must(err)
		if again.Status != perdure.DeliveryPending || again.Attempts != 0 {
			b.Errorf("sent again: %+v", again)
		}
		b.step()
		if d := b.only(w); d.Status != perdure.DeliveryDelivered || d.Attempts != 1 {
			b.Errorf("delivered after it was sent again: %+v", d)
		}
	})
}

// TestRetryAfterIsRespected checks that an endpoint can extend the pause before the next attempt
// with the header Retry-After, up to a day.
func TestRetryAfterIsRespected(t *testing.T) {
	each(t, func(b *bench) {
		header := ""
		e := newEndpoint(b, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", header)
			w.WriteHeader(503)
		})
		w, _ := b.webhook(e.URL)
		b.start()
		want := []time.Duration{5 * time.Second, time.Hour, 24 * time.Hour, 30 * time.Minute, 2 * time.Hour}
		date := b.clock.Now()
		for i, value := range []string{"1", "3600", "999999999", "soon", ""} {
			header = value
			if i == 4 {
				header = date.Add(time.Minute).UTC().Format(http.TimeFormat) // in the past, because the clock was advanced by more than a minute
			}
			b.step()
			d := b.only(w)
			if pause := d.NextAttemptAt.Sub(b.clock.Now()); pause != want[i] {
				b.Errorf("Retry-After %q: %s, want %s", value, pause, want[i])
			}
			b.clock.advance(want[i])
		}
	})
}

// TestAGoneEndpointIsDisabled checks a response with the status 410. The server must disable the
// webhook and write an audit record, and the other deliveries of the webhook must become dead.
func TestAGoneEndpointIsDisabled(t *testing.T) {
	each(t, func(b *bench) {
		w, _ := b.webhook("http://127.0.0.1:1/nobody")
		b.start()
		b.step() // the first attempt fails, and the delivery waits for the second
		e := newEndpoint(b, status(http.StatusGone))
		w, err := b.engine.ReplaceWebhook(b.Context(), org, w.ID, 1, perdure.WebhookRequest{URL: e.URL + "?secret=1"})
		b.must(err)
		b.start()
		b.step()
		w, err = b.store.Webhook(b.Context(), org, w.ID)
		b.must(err)
		if w.Enabled || !strings.Contains(w.DisabledReason, "410") {
			b.Errorf("the webhook is %+v", w)
		}
		for _, d := range b.deliveries(w) {
			if d.Status != perdure.DeliveryDead {
				b.Errorf("a delivery is %+v", d)
			}
		}
		audit, err := b.store.AuditLog(b.Context(), org, "", 1)
		b.must(err)
		if a := audit.Items[0]; a.Action != perdure.AuditWebhookDisabled || a.SubjectName != e.URL || a.Actor.Name != "process" {
			b.Errorf("the audit log ends with %+v", a)
		}
		b.start()
		if n := len(b.deliveries(w)); n != 2 {
			b.Errorf("a disabled webhook has %d deliveries", n)
		}
		_, err = b.engine.Resend(b.Context(), org, store.DeliveryKey{Webhook: w.ID, ID: b.deliveries(w)[0].ID})
		if !perdure.IsCode(err, perdure.Conflict) {
			b.Errorf("sent again although disabled: %v", err)
		}
		yes := true
		w, err = b.engine.ReplaceWebhook(b.Context(), org, w.ID, 0, perdure.WebhookRequest{URL: w.URL, Enabled: &yes})
		b.must(err)
		if !w.Enabled || w.DisabledReason != "" {
			b.Errorf("enabled again: %+v", w)
		}
	})
}

// TestTwoSecretsSignWhileRotating checks that the new and the old secret sign after a rotation, until
// the old secret expires or is dropped. Then only the new secret signs.
func TestTwoSecretsSignWhileRotating(t *testing.T) {
	each(t, func(b *bench) {
		e := newEndpoint(b, nil)
		w, first := b.webhook(e.URL)
		signedBy := func(secrets ...string) {
			b.Helper()
			b.start()
			b.step()
			all := e.requests()
			r := all[len(all)-1]
			var keys [][]byte
			for _, s := range secrets {
				keys = append(keys, key(b, s))
			}
			stamp, _ := strconv.ParseInt(r.timestamp, 10, 64)
			if want := sign(keys, r.id, stamp, r.body); r.signature != want {
				b.Errorf("signed with %q, want %q", r.signature, want)
			}
		}
		signedBy(first)
		rotated, second, err := b.engine.RotateWebhook(b.Context(), org, w.ID)
		b.must(err)
		if rotated.OldSecretUntil == nil || rotated.OldSecretUntil.Sub(b.clock.Now()) != perdure.OldSecretLife {
			b.Errorf("the old secret signs until %v", rotated.OldSecretUntil)
		}
		signedBy(second, first)
		b.clock.advance(perdure.OldSecretLife)
		signedBy(second)
		_, third, err := b.engine.RotateWebhook(b.Context(), org, w.ID)
		b.must(err)
		signedBy(third, second)
		_, err = b.engine.DropOldSecret(b.Context(), org, w.ID)
		b.must(err)
		signedBy(third)
	})
}

// TestATestEventIsSent checks that a webhook.test event is sent even to a webhook that does not
// subscribe to this type. A test event for a webhook of another org, or for a webhook that does not
// exist, is refused.
func TestATestEventIsSent(t *testing.T) {
	each(t, func(b *bench) {
		e := newEndpoint(b, nil)
		w, _ := b.webhook(e.URL, "agent.failed")
		d, err := b.engine.TestWebhook(b.Context(), org, w.ID)
		b.must(err)
		b.step()
		got := e.requests()
		if len(got) != 1 || got[0].id != d.ID.String() {
			b.Fatalf("%d requests", len(got))
		}
		if kind, data := got[0].event(b); kind != "webhook.test" || data["org"] != org || data["webhookId"] != w.ID.String() {
			b.Errorf("the event is %s", got[0].body)
		}
		if _, err := b.engine.TestWebhook(b.Context(), "other", w.ID); !perdure.IsCode(err, perdure.NotFound) {
			b.Errorf("a test by another org: %v", err)
		}
		if _, err := b.engine.TestWebhook(b.Context(), org, uuid.New()); !perdure.IsCode(err, perdure.NotFound) {
			b.Errorf("a test of nothing: %v", err)
		}
	})
}

// TestADeletedWebhookIsNotServed checks that the deliveries of a deleted webhook are not sent, and
// are deleted by the sweep.
func TestADeletedWebhookIsNotServed(t *testing.T) {
	each(t, func(b *bench) {
		e := newEndpoint(b, nil)
		w, _ := b.webhook(e.URL)
		for range 3 {
			b.start()
		}
		_, err := b.engine.DeleteWebhook(b.Context(), org, w.ID)
		b.must(err)
		b.step()
		b.must(b.engine.SweepDeliveries(b.Context()))
		if n := len(e.requests()); n != 0 {
			b.Errorf("%d were sent", n)
		}
		if n := len(b.deliveries(w)); n != 0 {
			b.Errorf("%d are stored", n)
		}
		_, err = b.engine.DeleteWebhook(b.Context(), org, w.ID)
		if !perdure.IsCode(err, perdure.NotFound) {
			b.Errorf("deleted twice: %v", err)
		}
	})
}
