package openai

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	logfold "github.com/perdure/perdure/internal/log/fold"
)

// prefixApproval is the prefix of the id of an approval request. The rest of that id is the
// question's id without dashes.
const prefixApproval = "mcpr_"

// waitsForQuestion is the reason in the event of an agent that waits for the answer to a question.
const waitsForQuestion = "question"

// approvalID returns the id of the approval request of a question.
func approvalID(question uuid.UUID) string {
	return prefixApproval + strings.ReplaceAll(question.String(), "-", "")
}

// questionOf returns the id of the question behind the approval request with this id.
func questionOf(id string) (uuid.UUID, bool) {
	digits, ok := strings.CutPrefix(id, prefixApproval)
	if !ok || len(digits) != 32 {
		return uuid.Nil, false
	}
	q, err := uuid.Parse(digits)
	return q, err == nil && approvalID(q) == id
}

// asked adds a question of the agent to the output. A question about a tool call becomes an
// approval request; any other question becomes a message, because OpenAI's API has no item for it.
// The model sees neither of these items, because a question is not part of the conversation.
func (f *fold) asked(r *perdure.Record) error {
	q, err := logfold.AskedOf(r)
	if err != nil || q.Status.Final() {
		return err // a grant has already answered the question
	}
	if call := f.callOf(r.Place.ToolCallID); q.Kind == perdure.QuestionApproval && call != nil {
		f.askedAbout(call, q)
		return nil
	}
	text := fmt.Sprintf("%s\n\nThe run waits for an answer to question %s: perdure answer %s, or POST /api/orgs/ORG/questions/%s/answer.",
		cmp.Or(q.Prompt, q.Subject, string(q.Kind)), q.ID, q.ID, q.ID)
	g := f.show(itemMessage, q.ID.String())
	f.delta(g, text)
	f.done(g, text, statusCompleted)
	return nil
}

// askedAbout adds the approval request for a tool call to the output.
func (f *fold) askedAbout(call *growing, q logfold.Asked) {
	call.Approval = approvalID(q.ID)
	g := f.add(Item{Type: itemApproval, ID: call.Approval, Name: q.Subject, Arguments: call.Arguments}, "")
	f.itemDone(g)
	g.shown = f.next - 1
}

// callOf returns the output item of the tool call with the id, if a worker runs the tool. It
// returns nil if the response has no such call.
func (f *fold) callOf(id string) *growing {
	for _, g := range f.calls {
		if g.Type == itemToolCall && g.part.ID == id {
			return g
		}
	}
	return nil
}

// approval returns the approval request with the id, or nil.
func (f *fold) approval(id string) *growing {
	for _, g := range f.items {
		if g.Type == itemApproval && g.ID == id {
			return g
		}
	}
	return nil
}

func (i Item) marshalApproval() ([]byte, error) {
	return json.Marshal(struct {
		Type        string `json:"type"`
		ID          string `json:"id"`
		ServerLabel string `json:"server_label"`
		Name        string `json:"name"`
		Arguments   string `json:"arguments"`
	}{i.Type, i.ID, serverLabel, i.Name, i.Arguments})
}
