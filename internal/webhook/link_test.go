package webhook

import (
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/engine/questions"
	"github.com/perdure/perdure/internal/store"
)

// bound creates a webhook that is bound to an API key.
func (b *bench) bound(url string, key uuid.UUID) *perdure.Webhook {
	b.Helper()
	w, _, err := b.engine.CreateWebhook(b.Context(), org, perdure.WebhookRequest{URL: url, Events: []string{"question.*"}, KeyID: &key})
	b.must(err)
	return w
}

// ask starts a run that asks a question.
func (b *bench) ask(change ...func(*perdure.NewQuestion)) uuid.UUID {
	b.Helper()
	id := b.start()
	worker := uuid.New()
	d := b.engine.Dispatch(org, false)
	_, err := d.Register(b.Context(), perdure.Registration{
		WorkerID: worker, Queues: []string{"default"}, Agents: []perdure.KindSpec{{Kind: "agent"}}, Features: perdure.AllFeatures,
	})
	b.must(err)
	claims, err := d.PollAgents(b.Context(), perdure.Poll{WorkerID: worker, Queues: []string{"default"}, Kinds: []string{"agent"}, Slots: 1})
	b.must(err)
	if len(claims) != 1 || claims[0].Lease.ExecutionID != id {
		b.Fatalf("the claims are %v", claims)
	}
	n := perdure.NewQuestion{Key: "q"}
	n.Kind, n.Prompt = "plan", "Deploy?"
	for _, f := range change {
		f(&n)
	}
	n.DetailsSHA256 = perdure.DetailsHash(n.Kind, n.Subject, n.Details)
	_, err = d.Commit(b.Context(), perdure.Commit{Lease: claims[0].Lease, Number: 1, Questions: []perdure.NewQuestion{n}})
	b.must(err)
	return perdure.QuestionID(id, "q")
}

func (b *bench) key(role perdure.KeyRole) *perdure.APIKey {
	b.Helper()
	key, _, err := b.engine.CreateKey(b.Context(), org, "a key of role "+string(role), role)
	b.must(err)
	return key
}

const public = "https://perdure.example.com"

// linksTo configures a public URL, so that deliveries can contain links.
func (b *bench) linksTo(t *testing.T) {
	base, err := url.Parse(public)
	if err != nil {
		t.Fatal(err)
	}
	b.sender.PublicURL = base
}

// linkIn returns the token of the link in a delivery; "" if the delivery has no link.
func linkIn(t *testing.T, r request) string {
	t.Helper()
	_, data := r.event(t)
	text, has := data["link"].(string)
	token, found := strings.CutPrefix(text, public+"/q/")
	if has && !found {
		t.Errorf("the link is %s", text)
	}
	return token
}

// TestABoundWebhookGetsALink checks that the delivery of a new question has a link, and that an
// answer given through the link is an answer of the webhook's API key. Each attempt has its own
// link, and no token is stored.
func TestABoundWebhookGetsALink(t *testing.T) {
	each(t, func(b *bench) {
		b.linksTo(t)
		answers := 0
		e := newEndpoint(t, func(w http.ResponseWriter, r *http.Request) {
			answers++
			if answers == 1 {
				w.WriteHeader(http.StatusTeapot)
			}
			_, _ = io.Copy(w, r.Body) // an endpoint that repeats what it gets
		})
		key := b.key(perdure.KeyApprover)
		w := b.bound(e.URL, key.ID)
		id := b.ask()
		b.step()
		b.clock.advance(perdure.DeliveryRetries[0])
		b.step()
		got := e.requests()
		if len(got) != 2 {
			t.Fatalf("%d attempts, want 2", len(got))
		}
		first, second := linkIn(t, got[0]), linkIn(t, got[1])
		if len(first) != 43 || len(second) != 43 || first == second {
			t.Fatalf("the links are %q and %q", first, second)
		}
		for _, token := range []string{first, second} {
			l, err := b.engine.Questions.FollowLink(b.Context(), token)
			b.must(err)
			if !l.Open || l.Question.ID != id || l.Key.ID != key.ID || l.ExpiresAt.Sub(l.CreatedAt.Time) != perdure.MaxLinkLife {
				t.Errorf("a link leads to %+v", l)
			}
		}
		d, err := b.store.Delivery(b.Context(), org, store.DeliveryKey{Webhook: w.ID, ID: b.only(w).ID})
		b.must(err)
		if text := string(d.Payload) + d.ResponseBody; strings.Contains(text, second) || strings.Contains(string(d.Payload), "link") || !strings.Contains(d.ResponseBody, "[token]") {
			t.Errorf("the delivery is stored as %s %s", d.Payload, d.ResponseBody)
		}
		seen := b.question(id).DetailsSHA256
		_, err = b.engine.Answer(b.Context(), org, questions.AnswerRequest{Question: id, Verdict: perdure.VerdictDeny, DetailsSHA256: &seen, Role: perdure.KeyAdmin})
		b.must(err)
		b.step()
		for _, r := range e.requests()[2:] {
			if linkIn(t, r) != "" {
				t.Errorf("another event has a link: %s", r.body)
			}
		}
	})
}

// TestATokenThatIsCutOffIsNotStored checks an endpoint whose response contains the token just where
// the stored part of the response ends. The stored part must not contain the beginning of the
// token, because this part of the token is a secret as well.
func TestATokenThatIsCutOffIsNotStored(t *testing.T) {
	each(t, func(b *bench) {
		b.linksTo(t)
		key := b.key(perdure.KeyApprover).ID
		for _, left := range []int{42, 20, 4} {
			e := newEndpoint(t, func(w http.ResponseWriter, r *http.Request) {
				raw, _ := io.ReadAll(r.Body)
				_, _ = io.WriteString(w, strings.Repeat("x", perdure.MaxDeliveryAnswer-left)+linkIn(t, request{body: raw}))
			})
			w := b.bound(e.URL, key)
			b.ask()
			b.step()
			token := linkIn(t, e.requests()[0])
			d, err := b.store.Delivery(b.Context(), org, store.DeliveryKey{Webhook: w.ID, ID: b.only(w).ID})
			b.must(err)
			if want := strings.Repeat("x", perdure.MaxDeliveryAnswer-left); d.ResponseBody != want {
				t.Errorf("with %d bytes left, the answer %q is stored with ...%s", left, token, d.ResponseBody[max(0, len(d.ResponseBody)-left):])
			}
			_, err = b.engine.DeleteWebhook(b.Context(), org, w.ID)
			b.must(err)
		}
	})
}

// TestAnAnswerThatEndsLikeATokenIsStored checks that the last characters of a response are stored
// although they equal the first few characters of the token.
func TestAnAnswerThatEndsLikeATokenIsStored(t *testing.T) {
	b := body{token: "kayak-and-more"}
	for text, want := range map[string]string{"ok": "ok", "okay": "okay", "o" + "kaya": "o", "a kayak-and-more k": "a [token] k"} {
		if got := b.hide(text); got != want {
			t.Errorf("of %q, %q is stored", text, got)
		}
	}
}

func (b *bench) question(id uuid.UUID) *perdure.Question {
	b.Helper()
	q, err := b.store.Question(b.Context(), org, id)
	b.must(err)
	return q
}

// TestDeliveriesWithoutALink checks that the delivery of a new question has no link if there is no
// public URL, if the webhook's key is revoked or may not answer, or if the question has ended.
func TestDeliveriesWithoutALink(t *testing.T) {
	none := func(*perdure.NewQuestion) {}
	for name, c := range map[string]struct {
		before func(b *bench, key uuid.UUID)
		ask    func(*perdure.NewQuestion)
		after  func(b *bench, id uuid.UUID)
	}{
		"no public address":   {before: func(b *bench, _ uuid.UUID) { b.sender.PublicURL = nil }, ask: none},
		"the key is revoked":  {before: func(b *bench, key uuid.UUID) { _, err := b.engine.RevokeKey(b.Context(), org, key); b.must(err) }, ask: none},
		"the key is excluded": {ask: func(n *perdure.NewQuestion) { n.By = []string{"admin"} }},
		"the question has ended": {ask: none, after: func(b *bench, id uuid.UUID) {
			_, err := b.engine.Answer(b.Context(), org, questions.AnswerRequest{Question: id, Verdict: perdure.VerdictDeny, Role: perdure.KeyAdmin})
			b.must(err)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			each(t, func(b *bench) {
				b.linksTo(t)
				e := newEndpoint(t, nil)
				key := b.key(perdure.KeyApprover)
				b.bound(e.URL, key.ID)
				if c.before != nil {
					c.before(b, key.ID)
				}
				id := b.ask(c.ask)
				if c.after != nil {
					c.after(b, id)
				}
				b.step()
				if all := e.requests(); len(all) == 0 {
					t.Error("nothing was delivered")
				} else {
					for _, r := range all {
						if strings.Contains(string(r.body), "/q/") || strings.Contains(string(r.body), `"link"`) {
							t.Errorf("the delivery is %s", r.body)
						}
					}
				}
			})
		})
	}
}
