package perdure

import (
	"slices"
	"strings"
)

// EventWebhookTest is the type of the event that the server sends to test a webhook. The event is in no
// log.
const EventWebhookTest EventType = "webhook.test"

// WebhookEvent is an event type that webhooks can receive.
type WebhookEvent struct {
	Type EventType
	// Members has the members that a delivery contains. Each key is the name of a member in the log,
	// and the value is its name in the delivery. In a delivery, kind and status are those of the
	// execution. Members that can contain text of a conversation, such as a prompt or an answer, are
	// not in the map.
	Members map[string]string
}

var (
	noMembers       = map[string]string{}
	endMembers      = map[string]string{"code": "errorCode"}
	questionMembers = map[string]string{
		"questionId": "questionId", "kind": "questionKind", "status": "questionStatus", "version": "questionVersion",
		"subject": "subject", "detailsSha256": "detailsSha256", "needed": "needed", "expiresAt": "expiresAt",
		"verdict": "verdict", "by": "by", "keyId": "keyId", "votes": "votes", "taskId": "taskId",
	}
)

// webhookEvents declares all event types that webhooks can receive. A new type needs only an element
// here.
var webhookEvents = []WebhookEvent{
	{EventCreated, noMembers},
	{EventStarted, noMembers},
	{EventWaiting, map[string]string{"reason": "reason", "openQuestions": "openQuestions"}},
	{EventResumed, noMembers},
	{EventCancelling, noMembers},
	{EventCompleted, noMembers},
	{EventFailed, endMembers},
	{EventCancelled, endMembers},
	{"question.asked", questionMembers},
	{"question.voted", questionMembers},
	{"question.edited", questionMembers},
	{"question.answered", questionMembers},
	{"question.expired", questionMembers},
	{"question.withdrawn", questionMembers},
	{"question.closed", questionMembers},
}

var webhookEventByType = func() map[EventType]*WebhookEvent {
	all := make(map[EventType]*WebhookEvent, len(webhookEvents))
	for i := range webhookEvents {
		all[webhookEvents[i].Type] = &webhookEvents[i]
	}
	return all
}()

// WebhookEvents returns all event types that webhooks can receive.
func WebhookEvents() []WebhookEvent { return slices.Clone(webhookEvents) }

// WebhookEventOf returns the declaration of the event type; nil if webhooks do not receive such events.
func WebhookEventOf(t EventType) *WebhookEvent { return webhookEventByType[t] }

// LifecycleEvents are the events that a webhook receives if its request lists none: the changes of an
// execution's status.
func LifecycleEvents() []string { return []string{"agent.*"} }

// Wants reports whether the webhook receives events of the type t.
func (w *Webhook) Wants(t EventType) bool {
	return w.Enabled && w.DeletedAt == nil && slices.ContainsFunc(w.Events, func(pattern string) bool { return matchesEvent(pattern, t) })
}

// matchesEvent reports whether the pattern selects the event type. A pattern is the type itself,
// "PREFIX.*" or "*".
func matchesEvent(pattern string, t EventType) bool {
	if pattern == "*" || pattern == string(t) {
		return true
	}
	prefix, many := strings.CutSuffix(pattern, "*")
	return many && strings.HasSuffix(prefix, ".") && strings.HasPrefix(string(t), prefix)
}
