package perdure

import (
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/google/uuid"
)

// WebhookRequest contains the settings of a webhook that an org chooses.
type WebhookRequest struct {
	URL         string
	Events      []string // if empty, LifecycleEvents
	Description string
	// Enabled says whether the webhook is enabled. If it is nil, a new webhook is enabled, and an
	// existing one does not change.
	Enabled *bool
	// KeyID is an API key that may answer questions; nil for none. With it, deliveries of the event
	// question.asked contain a link to answer with that key.
	KeyID *uuid.UUID
}

// Normal returns the request with the default events if it has none, and without duplicate patterns.
func (r WebhookRequest) Normal() WebhookRequest {
	if len(r.Events) == 0 {
		r.Events = LifecycleEvents()
	}
	var events []string
	for _, pattern := range r.Events {
		if !slices.Contains(events, pattern) {
			events = append(events, pattern)
		}
	}
	r.Events = events
	return r
}

// Check checks the request. If `loopback` is true, the URL may also be http to this machine, for
// development. Errors: invalid_argument.
func (r WebhookRequest) Check(loopback bool) error {
	if err := checkWebhookURL(r.URL, loopback); err != nil {
		return err
	}
	if err := CheckText("description", r.Description); err != nil {
		return err
	}
	if len(r.Description) > MaxWebhookDescription {
		return FieldErrorf("description", "has %d bytes, and at most %d are allowed", len(r.Description), MaxWebhookDescription)
	}
	if len(r.Events) > MaxWebhookEvents {
		return FieldErrorf("events", "has %d entries, and at most %d are allowed; use patterns such as \"agent.*\"", len(r.Events), MaxWebhookEvents)
	}
	for _, pattern := range r.Events {
		if !slices.ContainsFunc(webhookEvents, func(e WebhookEvent) bool { return matchesEvent(pattern, e.Type) }) {
			return FieldErrorf("events", "%.80q is neither an event that webhooks receive nor a pattern of one; there are %s", pattern, strings.Join(eventNames(), ", "))
		}
	}
	return nil
}

// eventNames returns the event types that webhooks can receive, and the patterns that select groups of
// them.
func eventNames() (names []string) {
	for _, e := range webhookEvents {
		group, _, _ := strings.Cut(string(e.Type), ".")
		if pattern := group + ".*"; !slices.Contains(names, pattern) {
			names = append(names, pattern)
		}
		names = append(names, string(e.Type))
	}
	return names
}

func checkWebhookURL(text string, loopback bool) error {
	if text == "" {
		return FieldErrorf("url", "is missing; it is the address that events are posted to, such as https://example.com/perdure")
	}
	if len(text) > MaxWebhookURL {
		return FieldErrorf("url", "has %d bytes, and at most %d are allowed", len(text), MaxWebhookURL)
	}
	if err := CheckText("url", text); err != nil {
		return err
	}
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Host == "" || u.Hostname() == "" || u.Opaque != "":
		return FieldErrorf("url", "is not an absolute URL such as https://example.com/perdure")
	case u.User != nil:
		return FieldErrorf("url", "must not contain a user or a password; deliveries are signed instead")
	case u.Fragment != "" || strings.Contains(text, "#"):
		return FieldErrorf("url", "must not have a fragment (#...), which is never sent")
	case u.Scheme == "http" && loopback && isLoopback(u.Hostname()):
		return nil
	case u.Scheme != "https" && loopback:
		return FieldErrorf("url", "must begin with https://, or with http:// for an endpoint on this machine, such as http://127.0.0.1:8080")
	case u.Scheme != "https":
		return FieldErrorf("url", "must begin with https://")
	}
	return nil
}

func isLoopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.IsLoopback()
}
