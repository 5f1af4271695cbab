package webhook

import (
	"math/rand/v2"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
)

// room decides how many requests each webhook with due deliveries may begin now. It visits the orgs
// in turn until the limits allow no further request. At each visit it allows one request to the
// org's next webhook. The result `full` reports whether the limits allow no request to at least one
// of the webhooks.
func (s *Sender) room(due []*perdure.Webhook) (picks []store.DeliveryPick, full bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.leftBehind = true // until the end of the round, which calls leave
	orgs, byOrg := groupByOrg(due)
	g := gifts{Sender: s, webhooks: map[uuid.UUID]int{}, orgs: map[string]int{}}
	next := map[string]int{}
	for given := len(orgs) > 0; given; {
		given = false
		for _, org := range orgs {
			list := byOrg[org]
			for i := range list {
				at := (next[org] + i) % len(list)
				if g.give(list[at]) {
					next[org], given = at+1, true
					break
				}
			}
		}
	}
	for _, w := range due {
		if n := g.webhooks[w.ID]; n > 0 {
			picks = append(picks, store.DeliveryPick{Webhook: w.ID, Limit: n})
		} else {
			full = true
		}
	}
	return picks, full
}

// groupByOrg returns the webhooks by org, and the list of these orgs. The list begins with a random
// org, so that no org is always the first.
func groupByOrg(due []*perdure.Webhook) (orgs []string, byOrg map[string][]*perdure.Webhook) {
	byOrg = map[string][]*perdure.Webhook{}
	for _, w := range due {
		if byOrg[w.Org] == nil {
			orgs = append(orgs, w.Org)
		}
		byOrg[w.Org] = append(byOrg[w.Org], w)
	}
	if len(orgs) > 0 {
		first := rand.IntN(len(orgs))
		orgs = append(orgs[first:], orgs[:first]...)
	}
	return orgs, byOrg
}

// gifts counts the new requests that a round allows: per webhook, per org and in total. The
// requests that run already are not included.
type gifts struct {
	*Sender
	webhooks map[uuid.UUID]int
	orgs     map[string]int
	total    int
}

// give allows one more request to a webhook, if the limits permit it (see perWebhook).
func (g *gifts) give(w *perdure.Webhook) bool {
	own, org, total := g.byWebhook[w.ID]+g.webhooks[w.ID], g.byOrg[w.Org]+g.orgs[w.Org], g.Sender.total+g.total
	if own >= perWebhook || own > 0 && (org >= perOrg || total >= atOnce) || total >= 2*atOnce {
		return false
	}
	g.webhooks[w.ID]++
	g.orgs[w.Org]++
	g.total++
	return true
}
