package llm

import (
	"fmt"
	"slices"
	"strings"

	"github.com/perdure/perdure"
)

// ruleChecker checks messages in order.
type ruleChecker struct {
	sent bool
	seen map[string]bool // ids of all tool calls so far; nil if sent is true
	// The field `calls` contains the ids of the tool calls in the last assistant message, and the
	// field `open` those of the calls that have no result yet. The field `answers` is the index of
	// that assistant message.
	calls, open []string
	answers     int
	last        perdure.Role // role of the last message besides system messages
}

func broken(rule Rule, message int, detail string, args ...any) *RuleError {
	return &RuleError{Rule: rule, Message: message, Detail: fmt.Sprintf(detail, args...)}
}

func (c *ruleChecker) conversation(messages []perdure.Message) *RuleError {
	end := 0
	for i, m := range messages {
		if e := c.message(i, m); e != nil {
			return e
		}
		if m.Role != perdure.RoleSystem {
			c.last, end = m.Role, i
		}
	}
	switch {
	case len(c.open) > 0:
		return c.missing()
	case c.sent:
	case c.last == "":
		return broken(RuleNoMessages, max(0, len(messages)-1), "nobody has said anything")
	case c.last == perdure.RoleAssistant:
		return broken(RuleLastNotUser, end, "the conversation ends with the assistant")
	}
	return nil
}

// message checks one message: first its position, and then its parts.
func (c *ruleChecker) message(i int, m perdure.Message) *RuleError {
	if m.Role != perdure.RoleToolResult && len(c.open) > 0 {
		return c.missing()
	}
	if (m.Role == perdure.RoleAssistant || m.Role == perdure.RoleToolResult) && c.last == "" && !c.sent {
		return broken(RuleFirstNotUser, i, "the conversation begins with the role %s", m.Role)
	}
	switch m.Role {
	case perdure.RoleSystem, perdure.RoleUser:
		c.calls, c.open = nil, nil
	case perdure.RoleAssistant:
		if e := c.ask(i, m); e != nil {
			return e
		}
	case perdure.RoleToolResult:
		if e := c.answer(i, m); e != nil {
			return e
		}
	default:
		return broken(RuleRoleUnknown, i, "its role is %q", m.Role)
	}
	if c.sent {
		return nil // converters change parts that break a rule
	}
	return checkPartRules(i, m)
}

func (c *ruleChecker) missing() *RuleError {
	return broken(RuleResultMissing, c.answers, "call %q has no result in the messages after it", c.open[0])
}

// ask checks and stores the tool calls of an assistant message.
func (c *ruleChecker) ask(i int, m perdure.Message) *RuleError {
	c.calls, c.open, c.answers = nil, nil, i
	for _, p := range m.Parts {
		switch {
		case p.Type != perdure.PartToolCall:
			continue
		case p.ID == "":
			return broken(RuleCallIDMissing, i, "a call of %q has no id", p.Name)
		case slices.Contains(c.calls, p.ID):
			return broken(RuleCallIDRepeated, i, "two calls have the id %q", p.ID)
		case c.seen[p.ID]:
			return broken(RuleCallIDReused, i, "the id %q is that of an earlier call", p.ID)
		}
		if c.seen != nil {
			c.seen[p.ID] = true
		}
		c.calls = append(c.calls, p.ID)
	}
	c.open = slices.Clone(c.calls)
	return nil
}

// answer checks the tool results of a message.
func (c *ruleChecker) answer(i int, m perdure.Message) *RuleError {
	for _, p := range m.Parts {
		if p.Type != perdure.PartToolResult {
			continue
		}
		n := slices.Index(c.open, p.ToolCallID)
		switch {
		case n >= 0:
			c.open = slices.Delete(c.open, n, n+1)
		case slices.Contains(c.calls, p.ToolCallID):
			return broken(RuleResultRepeated, i, "call %q has two results", p.ToolCallID)
		default:
			return broken(RuleResultUnexpected, i, "its result answers %q, which is no call before it", p.ToolCallID)
		}
	}
	return nil
}

// checkPartRules checks each part of a message on its own.
func checkPartRules(i int, m perdure.Message) *RuleError {
	empty := true
	for _, p := range m.Parts {
		if p.Type != perdure.PartText || strings.TrimSpace(p.Text) != "" {
			empty = false
		}
		switch {
		case !perdure.TakesPart(m.Role, p.Type):
			return broken(RulePartMisplaced, i, "a message of the role %s has no part of type %q", m.Role, p.Type)
		case p.Type == perdure.PartCompaction && len(m.Parts) > 1:
			return broken(RulePartMisplaced, i, "a compaction is the only part of its message")
		case p.Type != perdure.PartThinking:
		case p.Redacted && p.ThinkingSignature == "":
			return broken(RuleThinkingUnsigned, i, "redacted thinking has no signature")
		case p.ThinkingSignature != "" && (m.Provider == "" || m.Model == ""):
			return broken(RuleThinkingUnowned, i, "thinking has a signature, but the message names no model")
		}
	}
	if empty {
		return broken(RuleMessageEmpty, i, "a message of the role %s says nothing", m.Role)
	}
	return nil
}
