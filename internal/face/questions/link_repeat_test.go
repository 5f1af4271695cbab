package questions_test

import (
	"encoding/json"
	"testing"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// TestARepeatedFormIsTakenOnce checks that a form that is submitted twice is one vote, and that the
// page shows the outcome of the vote both times. The cases are questions that need one or two
// votes, of a REMOTE and a LOCAL run.
func TestARepeatedFormIsTakenOnce(t *testing.T) {
	each(t, func(h *testServer) {
		_, ann := h.newKey("ann", perdure.KeyApprover)
		remote, home := h.start("x"), h.startLocal()
		for name, needed := range map[string]int{"one": 1, "two": 2} {
			q := perdure.NewQuestion{QuestionTerms: perdure.QuestionTerms{
				Kind: perdure.QuestionInput, Prompt: "How many?", Needed: needed,
				Schema: json.RawMessage(`{"type":"object","required":["n"],"properties":{"n":{"type":"integer"}}}`),
			}}
			disconnect := home.connect()
			far := remote.ask(name, func(n *perdure.NewQuestion) { n.QuestionTerms, n.Details = q.QuestionTerms, nil })
			near := home.ask(name, q)
			for _, id := range []uuid.UUID{far, near} {
				_, path := h.link(id, ann)
				page := h.open(path)
				form := hidden(page)
				form.Set("verdict", "answer")
				form.Set("answer.n", "7")
				says := map[int]string{1: "Answered by ", 2: "Your vote counts: Answered. 1 of 2"}[needed]
				wantPage(h.T, h.post(path, form), 200, says)
				wantPage(h.T, h.post(path, form), 200, says)
			}
			disconnect()
			if a, b := len(h.get(far).Votes), len(h.get(near).Votes); a != 1 || b != 1 {
				h.T.Errorf("%s: the questions have %d and %d votes", name, a, b)
			}
		}
	})
}
