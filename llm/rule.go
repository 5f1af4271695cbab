package llm

import (
	"fmt"

	"github.com/perdure/perdure"
)

// Rule is the name of a rule that the messages of a request must follow. The names never change.
type Rule = string

// RuleNoMessages and the constants below it are the rules of CheckMessages. Each comment states the
// rule.
const (
	// RuleNoMessages: there is at least one message that is not a system message.
	RuleNoMessages Rule = "no_messages"
	// RuleFirstNotUser: the first message, apart from system messages, is a user message.
	RuleFirstNotUser Rule = "first_not_user"
	// RuleLastNotUser: the last message, apart from system messages, is a user message or a tool
	// result.
	RuleLastNotUser Rule = "last_not_user"
	// RuleRoleUnknown: the role of each message is system, user, assistant or tool result.
	RuleRoleUnknown Rule = "role_unknown"
	// RuleMessageEmpty: each message has a part other than blank text.
	RuleMessageEmpty Rule = "message_empty"
	// RulePartMisplaced: each part is of a type that the role of its message permits, and a
	// compaction is the only part of its message.
	RulePartMisplaced Rule = "part_misplaced"
	// RuleThinkingUnsigned: redacted thinking has a signature, which contains its data.
	RuleThinkingUnsigned Rule = "thinking_unsigned"
	// RuleThinkingUnowned: a message with signed thinking names the model that signed it.
	RuleThinkingUnowned Rule = "thinking_unowned"
	// RuleCallIDMissing: a tool call has an id.
	RuleCallIDMissing Rule = "tool_call_id_missing"
	// RuleCallIDRepeated: the tool calls of a message have different ids.
	RuleCallIDRepeated Rule = "tool_call_id_repeated"
	// RuleCallIDReused: no tool call has the id of a tool call in an earlier message.
	RuleCallIDReused Rule = "tool_call_id_reused"
	// RuleResultMissing: the results of all tool calls of a message follow directly after it.
	RuleResultMissing Rule = "tool_result_missing"
	// RuleResultUnexpected: each tool result belongs to a tool call of the last assistant message.
	RuleResultUnexpected Rule = "tool_result_unexpected"
	// RuleResultRepeated: each tool call has only one result.
	RuleResultRepeated Rule = "tool_result_repeated"
)

// RuleError is the error for messages that break a rule.
type RuleError struct {
	Rule Rule
	// Message is the index of the message that breaks the rule. For RuleResultMissing, it is the
	// index of the message with the tool call.
	Message int
	Detail  string
	// Provider is the name of the provider that would refuse the messages; "" if CheckMessages was
	// called without a provider.
	Provider string
}

func (e *RuleError) Error() string {
	return fmt.Sprintf("message %d breaks the rule %s: %s", e.Message, e.Rule, e.Detail)
}

// CheckMessages checks the rules that all providers share. The constants of type Rule state them.
// Messages of the same role may be adjacent, because each provider joins or accepts them. Thinking
// of other models is allowed, because it is not sent (see OwnThinking). The error is a *RuleError
// about the first message that breaks a rule. p may be nil.
//
// CheckMessages is for messages that a program composes. A stored conversation may break some of
// these rules, because a provider corrects that when it converts the messages. CheckRequest checks
// only the other rules.
func CheckMessages(p Provider, messages []perdure.Message) error {
	return checkRules(p, messages, false)
}

// checkRules returns the first broken rule. If `sent` is true, the messages will be converted
// before they are sent. Then checkRules omits the rules that hold after the conversion:
// RuleNoMessages, RuleFirstNotUser, RuleLastNotUser, RuleCallIDReused, RuleMessageEmpty,
// RulePartMisplaced and the rules about thinking.
func checkRules(p Provider, messages []perdure.Message, sent bool) error {
	c := ruleChecker{sent: sent, answers: -1}
	if !sent {
		c.seen = map[string]bool{}
	}
	e := c.conversation(messages)
	if e == nil {
		return nil
	}
	if p != nil {
		e.Provider = p.Name()
	}
	return e
}
