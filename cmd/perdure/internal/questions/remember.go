package questions

import (
	"fmt"
	"strings"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/cmd/perdure/internal/setup"
)

// rememberForms lists the possible values of the flag --remember, for help texts.
const rememberForms = "run (this call in this run), run:tool (every call of the tool), definition, definition:tool (all runs of the definition)"

// readRemember parses the values of the flags --remember and --for, and sets in r which approval the server
// is to remember.
func readRemember(form string, life time.Duration, r *client.AnswerRequest) error {
	switch {
	case form == "" && life != 0:
		return setup.NewUsageError("--for stands only beside --remember", "it says for how long an approval is remembered")
	case form == "":
		return nil
	case r.Verdict != perdure.VerdictApprove:
		return setup.NewUsageError("--remember stands only beside approve", "only approvals are remembered")
	case life < 0:
		return setup.NewUsageError("--for must be positive", "like 8h")
	case life > perdure.MaxQuestionLife:
		return setup.NewUsageError(fmt.Sprintf("--for is longer than %d days", int(perdure.MaxQuestionLife.Hours()/24)),
			fmt.Sprintf("an approval is remembered for at most %dh", int(perdure.MaxQuestionLife.Hours())))
	}
	scope, match, _ := strings.Cut(form, ":")
	if match == "" {
		match = string(perdure.GrantExact)
	}
	r.Remember = &perdure.Remember{Scope: perdure.GrantScope(scope), Match: perdure.GrantMatch(match)}
	if life != 0 {
		until := perdure.At(time.Now().Add(life))
		r.Remember.Until = &until
	}
	if err := r.Remember.Check("remember", perdure.At(time.Now())); err != nil {
		return setup.NewUsageError("--remember "+form+" is not known", "it takes "+rememberForms)
	}
	return nil
}

// remembered parses the words that a person types after "r" at a question's prompt. It returns an
// answer that approves the question and says which approval to remember. If a word is not valid,
// `wrong` lists the valid inputs.
func remembered(words string) (r client.AnswerRequest, wrong string) {
	remember := perdure.Remember{Scope: perdure.GrantRun, Match: perdure.GrantExact}
	for word := range strings.FieldsSeq(words) {
		switch word {
		case "tool":
			remember.Match = perdure.GrantTool
		case "definition":
			remember.Scope = perdure.GrantDefinition
		default:
			return r, "r (this call in this run), r tool (every call of the tool), r definition, r definition tool"
		}
	}
	return client.AnswerRequest{Verdict: perdure.VerdictApprove, Remember: &remember}, ""
}
