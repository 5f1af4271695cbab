package scripted

import (
	"fmt"
	"regexp"
	"strconv"

	"github.com/perdure/perdure"
)

// counted matches the end of a summary that this provider wrote. The number in it is the number of
// answers in the summarized messages.
var counted = regexp.MustCompile(`\((\d+) answers before\)\s*$`)

// summarize returns the steps that write a summary of a conversation with n answers. The summary
// ends with the number n, so that a later request that begins with this summary gets the turn after
// these answers.
func (s *script) summarize(n int, fresh string) ([]step, bool) {
	end := step{word: "text", text: fmt.Sprintf("(%d answers before)", n)}
	if s.summary == nil {
		return []step{{word: "text", text: "The conversation goes on."}, end}, true
	}
	steps, fits := s.summary.steps(fresh)
	if len(steps) > 0 && steps[len(steps)-1].word != "text" {
		end.text = "\n" + end.text // the player adds a line break only between two texts
	}
	return concat(steps, []step{end}), fits
}

// answers returns the number of turns that were played. It is the number of assistant messages plus
// the number of answers that a summary replaces.
func answers(messages []perdure.Message) int {
	n := 0
	for _, m := range messages {
		if m.Role == perdure.RoleAssistant {
			n++
		}
		for _, p := range m.Parts {
			if p.Type != perdure.PartCompaction {
				continue
			}
			if found := counted.FindStringSubmatch(p.Text); found != nil {
				before, _ := strconv.Atoi(found[1]) // a number that is too large becomes the maximum
				n += before
			}
		}
	}
	return n
}
