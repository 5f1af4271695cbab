package chaos

import (
	"fmt"
	"slices"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/llm/scripted"
)

// signals checks that the run received each accepted signal once. The log must show each accepted
// signal once, and no refused signal. Signals of the same sender must arrive in the order in which
// they were sent.
func (c *check) signals() {
	said := map[string]int{} // position in the conversation, by text
	for i, m := range c.Messages[min(1, len(c.Messages)):] {
		if m.Role != perdure.RoleUser {
			continue
		}
		text := m.PlainText()
		if _, twice := said[text]; twice {
			c.add("%q is said twice", text)
		}
		said[text] = i
	}
	received := map[string]int{}
	for _, e := range c.Log {
		if e.Type == perdure.EventSignal {
			received[e.Signal]++
		}
	}
	last := map[int]int{}
	for _, s := range c.Sent {
		at, found := said[s.Text]
		delete(said, s.Text)
		switch {
		case found != s.Accepted:
			c.add("the message %q was accepted: %t, and it is in the conversation: %t", s.Text, s.Accepted, found)
		case found && at < last[s.Sender]:
			c.add("the message %q stands before one that was sent earlier", s.Text)
		case found:
			last[s.Sender] = at
		}
		if n := received[s.ID]; n > 1 || (n == 1) != s.Accepted {
			c.add("the message %q was accepted: %t, and received %d times", s.Text, s.Accepted, n)
		}
	}
	for text := range said {
		c.add("nobody has said %q", text)
	}
}

// models checks the requests to the model. Each turn was requested at most as often as its task was
// attempted. All attempts of a turn must have the same prompt, which must begin with the prompt of
// the previous turn.
func (c *check) models() {
	attempts, ends := map[string]int{}, map[string]int{}
	for _, t := range c.order {
		if t.kind != modelTask {
			continue
		}
		attempts[t.turn] += t.attempts
		ends[t.turn]++
	}
	byTurn := map[int][]scripted.Call{}
	for _, call := range c.Calls {
		byTurn[call.Turn] = append(byTurn[call.Turn], call)
	}
	before := ""
	for turn := 1; turn <= c.turns; turn++ {
		calls, name := byTurn[turn], fmt.Sprintf("turn_%d", turn-1)
		delete(byTurn, turn)
		if n := len(calls); n == 0 || n > attempts[name] {
			c.add("turn %d: the model was called %d times in %d attempts", turn, n, attempts[name])
		}
		if ends[name] != 1 {
			c.add("turn %d: there are %d model tasks", turn, ends[name])
		}
		if i := slices.IndexFunc(calls, func(call scripted.Call) bool { return call.SHA256 != calls[0].SHA256 }); i > 0 {
			c.add("turn %d: call %d asks something else than the first", turn, i+1)
		}
		if len(calls) > 0 {
			if calls[0].Previous != before {
				c.add("turn %d: the prompt does not begin with the one before", turn)
			}
			before = calls[0].SHA256
		}
	}
	for turn, calls := range byTurn {
		c.add("the model was called %d times for turn %d, which is not in the conversation", len(calls), turn)
	}
}

// modelTask is the kind of a model call's task.
const modelTask = "llm-request"
