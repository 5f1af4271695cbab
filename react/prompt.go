package react

import (
	"sync/atomic"

	"github.com/perdure/perdure/llm"
)

// Counters count a worker's work since its start.
type Counters struct {
	// PrefixChanges counts model calls whose prompt did not begin with the prompt of the previous
	// call of the same execution. Such a call misses the provider's prompt cache and pays for the
	// whole context.
	PrefixChanges atomic.Int64
}

// promptRecord describes the prompt in an llm_call entry.
type promptRecord struct {
	llm.Prompt
	// Changed reports that the prompt does not begin with the previous call's prompt.
	Changed bool `json:"changed,omitempty"`
}

// promptChanged compares a call's prompt with the previous call's prompt, and stores it for the
// next call.
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
