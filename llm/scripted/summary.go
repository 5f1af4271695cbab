package scripted

import (
	"fmt"
	"strings"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/llm"
)

// summaryLine is the first line of a summary. It counts the turns that the summary stands for.
const summaryLine = "%d turns of the script were played."

// summarise answers a request for a summary: the number of played turns, and the text of the
// script's summary. A summary that says nothing is empty, and its failures fail.
func summarise(p *player, summary *turn, fresh string) (*llm.Response, error) {
	line := step{word: "text", text: fmt.Sprintf(summaryLine, p.turn)}
	if summary == nil {
		return p.play([]step{line})
	}
	steps, fits := summary.steps(fresh)
	if !fits {
		return nil, refuse("script %s: no alternative of the summary fits what is new", p.req.Model)
	}
	return p.play(concat([]step{line}, steps))
}

// played returns the number of turns that were played: those that a summary counts, and the answers
// after it.
func played(messages []perdure.Message) int {
	n := 0
	for _, m := range messages {
		if m.Role == perdure.RoleAssistant {
			n++
		}
		for _, p := range m.Parts {
			if p.Type == perdure.PartCompaction {
				n += counted(p.Text)
			}
		}
	}
	return n
}

// counted returns the number of turns in the first line of a summary; 0 if it has none.
func counted(summary string) int {
	n := 0
	first, _, _ := strings.Cut(summary, "\n")
	if _, err := fmt.Sscanf(first, summaryLine, &n); err != nil {
		return 0
	}
	return n
}
