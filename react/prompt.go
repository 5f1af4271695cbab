package react

import (
	"sync/atomic"

	"github.com/perdure/perdure/llm"
)

// Counters are counters of the react agent on a worker since its start.
type Counters struct {
	// PrefixChanges counts model calls whose prompt does not begin with the prompt of the
	// execution's previous call. The provider's prompt cache does not apply to such a call, so it
	// costs the whole context.
	PrefixChanges atomic.Int64
}

// promptRecord is the part of an llm_call entry about the prompt.
type promptRecord struct {
	llm.Prompt
	// Changed reports that the prompt does not begin with the prompt of the previous call.
	Changed bool `json:"changed,omitempty"`
}

// promptChanged reports whether a call's prompt does not begin with the prompt of the previous
// call, and counts that. It stores the hash of the prompt for the next call.
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
