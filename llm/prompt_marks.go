package llm

// markChars is the number of characters of each shortened hash in Prompt.Marks.
const markChars = 8

// nextMark returns the number of messages after which the next mark is made. The last mark was made
// after the given number of messages. Each of the first 16 messages has a mark. Then the distance
// to the next mark is an eighth of the number of messages.
func nextMark(messages int) int { return messages + max(1, messages/8) }

// mark adds a mark if one is due after the messages that were added so far.
func (h *PromptHash) mark() error {
	if h.n != h.markAt {
		return nil
	}
	sum, err := h.sum()
	if err != nil {
		return err
	}
	h.marks = append(h.marks, sum[:markChars]...)
	h.markAt = nextMark(h.n)
	return nil
}

// PromptChange says where a prompt differs from an earlier prompt.
type PromptChange struct {
	// Head reports that the system prompt or the tools differ.
	Head bool `json:"head,omitempty"`
	// From and To limit the index of the first message that differs: it is at least From and less than
	// To. Both are 0 if Head is true.
	From int `json:"from"`
	To   int `json:"to"`
}

// ChangeFrom returns where the prompt p differs from an earlier prompt. The prompt p must not be
// the earlier prompt with more messages at its end.
func (p Prompt) ChangeFrom(earlier Prompt) PromptChange {
	c, differs := p.ChangeWithin(earlier, earlier.Messages)
	if !differs {
		c.To = max(c.From, earlier.Messages)
	}
	return c
}

// ChangeWithin compares the marks of both prompts, up to the given number of messages. The result
// `differs` says whether the marks show a difference in the system prompt, the tools or one of
// these messages, and c says where. If `differs` is false, c.From is the number of messages that
// are known to be equal.
func (p Prompt) ChangeWithin(earlier Prompt, messages int) (c PromptChange, differs bool) {
	for at := 0; at <= messages; at = nextMark(at) {
		mine, rest := cutMark(p.Marks)
		other, otherRest := cutMark(earlier.Marks)
		if mine == "" || other == "" {
			break
		}
		if mine != other {
			return PromptChange{Head: at == 0, From: c.From, To: at}, true
		}
		c.From, p.Marks, earlier.Marks = at, rest, otherRest
	}
	return c, false
}

// cutMark splits marks into the first mark and the others.
func cutMark(marks string) (first, rest string) {
	if len(marks) < markChars {
		return "", ""
	}
	return marks[:markChars], marks[markChars:]
}
