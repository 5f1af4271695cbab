package react

import (
	"sync/atomic"

	"github.com/perdure/perdure/llm"
)

// Counters are a worker's own, from its start.
type Counters struct {
	// PrefixChanges counts model calls whose prompt did not begin with what the
	// call before in the same execution was asked with: each has missed the
	// provider's prompt cache, and paid for the whole context.
	PrefixChanges atomic.Int64
}

// promptRecord is the prompt of an llm_call entry.
type promptRecord struct {
	llm.Prompt
	// Changed says that the prefix is not the prompt of the call before.
	Changed bool `json:"changed,omitempty"`
}

// promptChanged compares a call's prompt with that of the call before, and keeps
// it for the next.
func (l *loop) promptChanged(p *llm.Prompt) bool {
	if p == nil {
		return false
	}
	changed := l.st.Prompt != "" && p.Prefix != l.st.Prompt
	l.st.Prompt = p.SHA256
	if changed && l.c.Counters != nil {
		l.c.Counters.PrefixChanges.Add(1)
	}
	return changed
}
