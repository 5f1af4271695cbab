package questions_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

func editable(by perdure.EditRight, needed int) func(*perdure.NewQuestion) {
	return func(n *perdure.NewQuestion) { n.Kind, n.Edit, n.Needed = perdure.QuestionApproval, by, needed }
}

// TestAnEditReplacesWhatIsApproved checks an edit of the details of a question. The question then
// has the new details and their hash, the log has an event about the edit, and votes for the old
// details no longer count. A repeated edit changes nothing.
func TestAnEditReplacesWhatIsApproved(t *testing.T) {
	each(t, func(h *testServer) {
		t := h.T
		second, _ := h.newKey("second", perdure.KeyClient)
		a := h.start("x")
		id := a.ask("one", editable(perdure.EditClient, 2))
		a.rest(id)
		before := h.get(id)
		h.vote(h.approver, id, `"verdict":"approve","answerId":"v1"`).Want(200, nil)
		edit := `{"detailsSha256":"` + before.DetailsSHA256.String() + `","verdict":"approve","answerId":"e1","details":{"plan":  "two"}}`
		var q perdure.Question
		h.as(h.ClientKey, "POST", "/questions/"+id.String()+"/answer", edit).Want(200, &q)
		if q.Status != perdure.QuestionOpen || len(q.Votes) != 1 || q.Votes[0].Name != "test client" || q.Votes[0].EditedFrom == nil || *q.Votes[0].EditedFrom != before.DetailsSHA256 {
			t.Errorf("after the edit the question is %+v", q)
		}
		seen := h.get(id)
		if string(seen.Details) != `{"plan":  "two"}` || seen.DetailsSHA256 != perdure.DetailsHash(q.Kind, q.Subject, []byte(`{"plan":  "two"}`)) {
			t.Errorf("it shows %s", seen.Details)
		}
		var again perdure.Question
		h.as(h.ClientKey, "POST", "/questions/"+id.String()+"/answer", edit).Want(200, &again)
		if again.Version != q.Version {
			t.Errorf("the repeat made version %d of %d", again.Version, q.Version)
		}
		stale := `{"detailsSha256":"` + before.DetailsSHA256.String() + `","verdict":"approve"}`
		var p struct{ Code perdure.Code }
		h.as(second, "POST", "/questions/"+id.String()+"/answer", stale).Want(409, &p)
		if p.Code != perdure.DetailsChanged {
			t.Errorf("a vote about the old details gets %s", p.Code)
		}
		// The approver's vote for the old details no longer counts, so the approver can vote again.
		h.vote(h.approver, id, `"verdict":"approve"`).Want(200, &q)
		if q.Status != perdure.QuestionAnswered || len(q.Votes) != 2 {
			t.Errorf("the question is %+v", q)
		}
		var log struct{ Items []map[string]any }
		h.as(h.ClientKey, "GET", "/agent-executions/"+a.ID.String()+"/events?limit=1000", "").Want(200, &log)
		var types []string
		for _, e := range log.Items {
			if kind, _ := e["event"].(string); strings.HasPrefix(kind, "question.") {
				types = append(types, kind)
			}
		}
		if got := strings.Join(types, " "); got != "question.asked question.voted question.edited question.voted question.answered" {
			t.Errorf("the log has %s", got)
		}
	})
}

// TestEditsThatAreRefused checks edits that the question, the role or the content does not permit.
// These edits are refused and change nothing.
func TestEditsThatAreRefused(t *testing.T) {
	h := open(t)
	a := h.start("x")
	never, client, everyone := a.ask("never", editable("", 0)), a.ask("client", editable(perdure.EditClient, 0)), a.ask("everyone", editable(perdure.EditApprover, 0))
	for _, c := range []struct {
		name, key string
		id        uuid.UUID
		body      string
		status    int
	}{
		{"a question without edits", h.AdminKey, never, `"verdict":"approve","details":{}`, 403},
		{"an approver where only clients may", h.approver, client, `"verdict":"approve","details":{}`, 403},
		{"a denial", h.ClientKey, client, `"verdict":"deny","details":{}`, 400},
		{"too large", h.ClientKey, client, `"verdict":"approve","details":{"a":"` + strings.Repeat("x", perdure.InlineLimit) + `"}`, 400},
		{"a member twice", h.ClientKey, client, `"verdict":"approve","details":{"a":1,"a":2}`, 400},
	} {
		before := h.get(c.id)
		h.vote(c.key, c.id, c.body).Want(c.status, nil)
		if after := h.get(c.id); after.Version != before.Version || after.DetailsSHA256 != before.DetailsSHA256 {
			t.Errorf("%s: the question is now %+v", c.name, after)
		}
	}
	var q perdure.Question
	h.vote(h.approver, everyone, `"verdict":"approve","details":{"by":"approver"}`).Want(200, &q)
	if q.Status != perdure.QuestionAnswered || string(h.get(everyone).Details) != `{"by":"approver"}` {
		t.Errorf("the question is %+v", q)
	}
	// Details that are sent unchanged do not count as an edit.
	var same perdure.Question
	h.vote(h.approver, never, `"verdict":"approve","details":`+string(h.get(never).Details)).Want(200, &same)
	if same.Votes[0].EditedFrom != nil {
		t.Errorf("the vote is %+v", same.Votes[0])
	}
	// An agent function that is entered again asks the same question again, and gets the edited
	// question.
	a.Commit(perdure.Commit{Questions: []perdure.NewQuestion{{
		Key: "everyone", Details: json.RawMessage(`{"plan": "everyone"}`), DetailsSHA256: perdure.DetailsHash(perdure.QuestionApproval, "deploy", []byte(`{"plan": "everyone"}`)),
		QuestionTerms: perdure.QuestionTerms{Kind: perdure.QuestionApproval, Subject: "deploy", Prompt: "Deploy it?", Edit: perdure.EditApprover},
	}}})
}
