package perdure

import (
	"slices"
	"strings"
)

// EventWebhookTest is the type of the event that tests a webhook. It is in no log.
const EventWebhookTest EventType = "webhook.test"

// WebhookEvent is a type of event that webhooks can receive.
type WebhookEvent struct {
	Type EventType
	// Members are the members of the event that a delivery contains, by their names in the log. The
	// value is the name in the delivery, where kind and status are those of the execution. Members that
	// can contain text of a conversation, such as a prompt or an answer, are not among them.
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

// webhookEvents lists what webhooks can receive. It is all that a new type needs.
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

// WebhookEvents returns all types of events that webhooks can receive.
func WebhookEvents() []WebhookEvent { return slices.Clone(webhookEvents) }

// WebhookEventOf returns the declaration of a type; nil if webhooks do not receive such events.
func WebhookEventOf(t EventType) *WebhookEvent { return webhookEventByType[t] }

// LifecycleEvents are the events of a webhook that names none: the changes of an execution's status.
func LifecycleEvents() []string { return []string{"agent.*"} }

// Wants reports whether the webhook is to receive events of a type.
func (w *Webhook) Wants(t EventType) bool {
	return w.Enabled && w.DeletedAt == nil && slices.ContainsFunc(w.Events, func(pattern string) bool { return matchesEvent(pattern, t) })
}

// matchesEvent reports whether a pattern names a type: as it is, as "PREFIX.*", or as "*".
func matchesEvent(pattern string, t EventType) bool {
	if pattern == "*" || pattern == string(t) {
		return true
	}
	prefix, many := strings.CutSuffix(pattern, "*")
	return many && strings.HasSuffix(prefix, ".") && strings.HasPrefix(string(t), prefix)
}
