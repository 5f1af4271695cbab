package openai

import (
	"cmp"
	"fmt"

	"github.com/perdure/perdure"
	logfold "github.com/perdure/perdure/internal/log/fold"
)

// asked shows a question of the agent as a message, because the API has no item for it. It is only
// shown: it is no part of the conversation, and the model does not see it.
func (f *fold) asked(r *perdure.Record) error {
	q, err := logfold.AskedOf(r)
	if err != nil || q.Kind == perdure.QuestionApproval {
		return err
	}
	text := fmt.Sprintf("%s\n\nThe run waits for an answer to question %s: perdure answer %s, or POST /api/orgs/ORG/questions/%s/answer.",
		cmp.Or(q.Prompt, q.Subject, string(q.Kind)), q.ID, q.ID, q.ID)
	g := f.show(itemMessage, q.ID.String())
	f.delta(g, text)
	f.done(g, text, statusCompleted)
	return nil
}
