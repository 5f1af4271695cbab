package llm

// markChars is the number of characters of a hash in Prompt.Marks.
const markChars = 8

// nextMark returns the number of messages at the next mark. messages is the number at the current
// one. A mark follows each of the first 16 messages; later the distance is an eighth of the
// messages so far.
func nextMark(messages int) int { return messages + max(1, messages/8) }

// mark adds a mark if one is due after the messages so far.
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

// PromptChange says where a prompt differs from an earlier one.
type PromptChange struct {
	// Head reports that the system prompt or the tools differ.
	Head bool `json:"head,omitempty"`
	// The first message that differs has an index from From to To, without To. Both are 0 if the head
	// differs.
	From int `json:"from"`
	To   int `json:"to"`
}

// ChangeFrom returns where the prompt differs from an earlier one that it does not begin with.
func (p Prompt) ChangeFrom(earlier Prompt) PromptChange {
	c, differs := p.ChangeWithin(earlier, earlier.Messages)
	if !differs {
		c.To = max(c.From, earlier.Messages)
	}
	return c
}

// ChangeWithin reports whether the marks of the two prompts show a difference in the head or in the
// first messages, as many as messages says, and where. Without a difference, From is the number of
// messages that are known to be equal.
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

// cutMark returns the first mark and the marks after it.
func cutMark(marks string) (first, rest string) {
	if len(marks) < markChars {
		return "", ""
	}
	return marks[:markChars], marks[markChars:]
}
