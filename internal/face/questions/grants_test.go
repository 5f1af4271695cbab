package questions_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/face/facetest"
	"github.com/perdure/perdure/internal/longtest"
)

// calls returns a function that makes a question ask for the approval of a call of the tool. The
// functions in the parameter `change` can then change the question further.
func calls(tool, arguments string, change ...func(*perdure.NewQuestion)) func(*perdure.NewQuestion) {
	return func(n *perdure.NewQuestion) {
		n.Kind, n.Subject, n.Prompt, n.Details = perdure.QuestionApproval, tool, "", json.RawMessage(arguments)
		for _, f := range change {
			f(n)
		}
	}
}

// startOf starts a run and claims it. The parameter `definition` is the id of the run's definition.
// If the id is uuid.Nil, startOf creates a definition and stores its id there.
func (h *testServer) startOf(definition *uuid.UUID) asker {
	h.T.Helper()
	if *definition == uuid.Nil {
		var d perdure.Definition
		h.as(h.AdminKey, "POST", "/agent-definitions", `{"name":"d","slug":"d",`+facetest.Models+`}`).Want(201, &d)
		*definition = d.ID
	}
	h.Call("POST", "/agent-executions", `{"userPrompt":"x","agentDefinitionId":"`+definition.String()+`"}`).Want(201, nil)
	return asker{h.Claim(), h}
}

func (h *testServer) grants(query string) (ids []uuid.UUID) {
	h.T.Helper()
	var l struct{ Items []perdure.ApprovalGrant }
	h.as(h.ClientKey, "GET", "/approval-grants"+query, "").Want(200, &l)
	for _, g := range l.Items {
		ids = append(ids, g.ID)
	}
	return ids
}

// answered reports whether a question was answered by a grant.
func (h *testServer) answered(id uuid.UUID) bool {
	q := h.get(id)
	return q.Status == perdure.QuestionAnswered && q.Answer.By == perdure.AnsweredByGrant && q.Answer.GrantID != nil && len(q.Votes) == 0
}

// TestAnApprovalIsRemembered checks grants of both scopes and of both kinds of match. It checks
// which later questions the grants answer, how many questions stay open, and what the log contains.
func TestAnApprovalIsRemembered(t *testing.T) {
	each(t, func(h *testServer) {
		t := h.T
		var definition uuid.UUID
		a := h.startOf(&definition)
		first := a.ask("first", calls("bash", `{"command":"ls"}`))
		var q perdure.Question
		h.vote(h.approver, first, `"verdict":"approve","remember":{"scope":"run","match":"exact"}`).Want(200, &q)
		if q.Votes[0].Remember == nil || q.Answer.By != "test approver" {
			t.Errorf("the question is %+v", q)
		}
		for name, c := range map[string]struct {
			change func(*perdure.NewQuestion)
			want   bool
		}{
			"the same call":    {calls("bash", `{"command":"ls"}`), true},
			"another spelling": {calls("bash", `{"command": "ls"}`), false},
			"another tool":     {calls("grep", `{"command":"ls"}`), false},
			"its own kind": {func(n *perdure.NewQuestion) {
				n.Kind, n.Subject, n.Details = "plan", "bash", json.RawMessage(`{"command":"ls"}`)
			}, false},
			"two voters":    {calls("bash", `{"command":"ls"}`, func(n *perdure.NewQuestion) { n.Needed = 2 }), false},
			"other voters":  {calls("bash", `{"command":"ls"}`, func(n *perdure.NewQuestion) { n.By = []string{"admin"} }), false},
			"not the asker": {calls("bash", `{"command":"ls"}`, func(n *perdure.NewQuestion) { n.NotAsker = true }), false},
			"no grants":     {calls("bash", `{"command":"ls"}`, func(n *perdure.NewQuestion) { n.NoGrants = true }), false},
		} {
			if got := h.answered(a.ask(name, c.change)); got != c.want {
				t.Errorf("%s: a grant answered: %v", name, got)
			}
		}
		if x := h.execution(a.ID); x.OpenQuestions != 7 {
			t.Errorf("%d questions are open", x.OpenQuestions)
		}
		var log struct{ Items []map[string]any }
		h.as(h.ClientKey, "GET", "/agent-executions/"+a.ID.String()+"/events?limit=1000", "").Want(200, &log)
		by := ""
		for _, e := range log.Items {
			if data, ok := e["data"].(map[string]any); ok && e["event"] == "question.answered" {
				by += fmt.Sprint(data["by"], " ", data["grantId"] != nil, ", ")
			}
		}
		if by != "test approver true, grant true, " {
			t.Errorf("the log tells %s", by)
		}
		a.Commit(perdure.Commit{Outcome: perdure.Outcome{Kind: perdure.OutcomeComplete}})

		b := h.startOf(&definition)
		again := b.ask("again", calls("bash", `{"command":"ls"}`))
		if h.answered(again) {
			t.Error("the grant of a run answered a question of another run")
		}
		h.vote(h.AdminKey, again, `"verdict":"approve","remember":{"scope":"definition","match":"tool","until":"2027-10-01T00:00:00Z"}`).Want(200, nil)
		c := h.startOf(&definition)
		if !h.answered(c.ask("any", calls("bash", `{"command":"rm"}`))) {
			t.Error("the grant of the definition does not answer")
		}
		other := h.start("y")
		if h.answered(other.ask("any", calls("bash", `{"command":"rm"}`))) {
			t.Error("the grant of a definition answered a question of a run without it")
		}
		if all := h.grants(""); len(all) != 2 || len(h.grants("?agentExecutionId="+a.ID.String())) != 1 || len(h.grants("?agentDefinitionId="+definition.String())) != 1 {
			t.Errorf("the list has %v", all)
		}
	})
}

// TestAGrantAnswersOpenQuestions checks that a new grant also answers those open questions of the
// run that the grant covers. The run continues with the answers to all these questions.
func TestAGrantAnswersOpenQuestions(t *testing.T) {
	each(t, func(h *testServer) {
		t := h.T
		a, other := h.start("x"), h.start("y")
		first, second := a.ask("first", calls("bash", `{"n":1}`)), a.ask("second", calls("bash", `{"n":2}`))
		left := []uuid.UUID{
			a.ask("tool", calls("grep", `{}`)), a.ask("two", calls("bash", `{}`, func(n *perdure.NewQuestion) { n.Needed = 2 })),
			a.ask("each", calls("bash", `{}`, func(n *perdure.NewQuestion) { n.NoGrants = true })), other.ask("run", calls("bash", `{}`)),
		}
		all := perdure.WaitAll(perdure.WaitQuestion(first), perdure.WaitQuestion(second))
		a.Commit(perdure.Commit{Outcome: perdure.Outcome{Kind: perdure.OutcomeSuspend, Wait: &all}})
		h.vote(h.approver, first, `"verdict":"approve","remember":{"scope":"run","match":"tool"}`).Want(200, nil)
		if !h.answered(second) {
			t.Error("the grant does not answer the question that was open")
		}
		for _, id := range left {
			if q := h.get(id); q.Status != perdure.QuestionOpen {
				t.Errorf("the grant answered %s", q.Key)
			}
		}
		if x := h.execution(a.ID); x.OpenQuestions != 3 || x.Status != perdure.StatusPending {
			t.Errorf("the run is %s with %d open questions", x.Status, x.OpenQuestions)
		}
	})
}

// TestGrantsEnd checks that a revoked grant answers nothing, that an expired one is not listed, and
// which roles may revoke a grant.
func TestGrantsEnd(t *testing.T) {
	each(t, func(h *testServer) {
		t := h.T
		var definition uuid.UUID
		a := h.startOf(&definition)
		h.vote(h.AdminKey, a.ask("one", calls("bash", `{}`)), `"verdict":"approve","remember":{"scope":"definition","match":"tool"}`).Want(200, nil)
		grant := h.grants("")[0]
		path := "/approval-grants/" + grant.String()
		h.as(h.approver, "DELETE", path, "").Want(403, nil)
		h.as(h.ClientKey, "DELETE", path, "").Want(403, nil)
		h.as(h.approver, "GET", "/approval-grants", "").Want(403, nil)
		if !h.answered(a.ask("two", calls("bash", `{}`))) {
			t.Error("the grant does not answer")
		}
		h.as(h.AdminKey, "DELETE", path, "").Want(204, nil)
		h.as(h.AdminKey, "DELETE", path, "").Want(404, nil)
		var log struct{ Items []perdure.AuditRecord }
		h.as(h.AdminKey, "GET", "/audit?limit=1", "").Want(200, &log)
		if r := log.Items[0]; r.Action != perdure.AuditGrantRevoked || *r.SubjectID != grant || r.SubjectName != "bash" {
			t.Errorf("the audit log has %+v", r)
		}
		three := a.ask("three", calls("bash", `{}`))
		if h.answered(three) {
			t.Error("a revoked grant answers")
		}
		until := time.Now().Add(time.Hour).UTC().Format(time.RFC3339)
		h.vote(h.ClientKey, three, `"verdict":"approve","remember":{"scope":"run","match":"tool","until":"`+until+`"}`).Want(200, nil)
		if !h.answered(a.ask("four", calls("bash", `{}`))) {
			t.Error("the grant of an hour does not answer")
		}
		h.shift += 2 * time.Hour
		if len(h.grants("")) != 0 {
			t.Error("an expired grant is listed")
		}
	})
}

// TestSeveralVotersRemember checks that several votes create a grant only if all of them ask for
// the same grant.
func TestSeveralVotersRemember(t *testing.T) {
	each(t, func(h *testServer) {
		t := h.T
		a := h.start("x")
		two := func(n *perdure.NewQuestion) { n.Needed = 2 }
		const exact, tool = `"verdict":"approve","remember":{"scope":"run","match":"exact"}`, `"verdict":"approve","remember":{"scope":"run","match":"tool"}`
		for i, votes := range [][2]string{{exact, tool}, {`"verdict":"approve"`, tool}, {tool, `"verdict":"approve"`}, {tool, `"verdict":"deny"`}} {
			id := a.ask(fmt.Sprint("differ ", i), calls("bash", `{}`, two))
			h.vote(h.approver, id, votes[0]).Want(200, nil)
			h.vote(h.ClientKey, id, votes[1]).Want(200, nil)
		}
		if got := h.grants(""); len(got) != 0 {
			t.Fatalf("votes that differ made %d grants", len(got))
		}
		id := a.ask("agree", calls("bash", `{}`, two))
		h.vote(h.approver, id, tool).Want(200, nil)
		h.vote(h.ClientKey, id, tool).Want(200, nil)
		if !h.answered(a.ask("again", calls("bash", `{"a":1}`, two))) || !h.answered(a.ask("one", calls("bash", `{"a":2}`))) {
			t.Error("the grant of two voters does not answer")
		}
	})
}

// TestGrantsThatAreRefused checks answers that ask for an impossible grant. These answers are
// refused and change nothing.
func TestGrantsThatAreRefused(t *testing.T) {
	h := open(t)
	a := h.start("x")
	plain := a.ask("plain", calls("bash", `{}`, func(n *perdure.NewQuestion) { n.Edit = perdure.EditApprover }))
	remember := func(scope, match, more string) string {
		return `"verdict":"approve","remember":{"scope":"` + scope + `","match":"` + match + `"` + more + `}`
	}
	for _, c := range []struct {
		name, key, body string
		id              uuid.UUID
		status          int
		field           string
	}{
		{"a scope", h.AdminKey, remember("org", "exact", ""), plain, 422, "remember.scope"},
		{"a match", h.AdminKey, remember("run", "prefix", ""), plain, 422, "remember.match"},
		{"a surplus member", h.AdminKey, remember("run", "exact", `,"x":1`), plain, 422, "remember.x"},
		{"the past", h.AdminKey, remember("run", "exact", `,"until":"2020-01-01T00:00:00Z"`), plain, 400, "remember.until"},
		{"too long", h.AdminKey, remember("run", "exact", `,"until":"2199-01-01T00:00:00Z"`), plain, 400, "remember.until"},
		{"no time", h.AdminKey, remember("run", "exact", `,"until":"soon"`), plain, 422, "remember.until"},
		{"no definition", h.AdminKey, remember("definition", "exact", ""), plain, 400, "remember.scope"},
		{"not an admin", h.ClientKey, remember("definition", "exact", ""), plain, 403, ""},
		{"a denial", h.AdminKey, `"verdict":"deny","remember":{"scope":"run","match":"exact"}`, plain, 400, "remember"},
		{"an edit", h.AdminKey, `"details":{"a":1},` + remember("run", "exact", ""), plain, 400, "remember"},
		{"another kind", h.AdminKey, remember("run", "exact", ""), a.ask("own"), 400, "remember"},
		{"its asker is excluded", h.AdminKey, remember("run", "exact", ""), a.ask("apart", calls("bash", `{}`, func(n *perdure.NewQuestion) { n.NotAsker = true })), 400, "remember"},
		{"no grants", h.AdminKey, remember("run", "exact", ""), a.ask("each", calls("bash", `{}`, func(n *perdure.NewQuestion) { n.NoGrants = true })), 400, "remember"},
	} {
		r := h.vote(c.key, c.id, c.body)
		if r.Status != c.status && !(c.status == 422 && r.Status == 400) || c.field != "" && !strings.Contains(string(r.Body), `"`+c.field+`"`) {
			t.Errorf("%s is answered %d %s", c.name, r.Status, r.Body)
		}
		if q := h.get(c.id); q.Status != perdure.QuestionOpen || q.Version != 1 {
			t.Errorf("%s: the question is now %+v", c.name, q)
		}
	}
	if got := h.grants(""); len(got) != 0 {
		t.Errorf("there are the grants %v", got)
	}
	h.as(h.ClientKey, "GET", "/approval-grants?agentExecution="+a.ID.String(), "").Want(400, nil)
	h.as(h.ClientKey, "DELETE", "/approval-grants/"+uuid.NewString(), "").Want(404, nil)
}

// TestGrantsAreLimited checks that a run has at most perdure.MaxGrants grants. An approval that
// would create one more is refused until a grant is revoked.
func TestGrantsAreLimited(t *testing.T) {
	longtest.Skip(t, "seconds")
	h := open(t)
	a := h.start("x")
	for i := range perdure.MaxGrants {
		id := a.ask(fmt.Sprint(i), calls("bash", fmt.Sprintf(`{"n":%d}`, i)))
		h.vote(h.ClientKey, id, `"verdict":"approve","remember":{"scope":"run","match":"exact"}`).Want(200, nil)
	}
	id := a.ask("more", calls("bash", `{"n":"more"}`))
	wantField(t, h.vote(h.ClientKey, id, `"verdict":"approve","remember":{"scope":"run","match":"exact"}`), "remember")
	h.as(h.ClientKey, "DELETE", "/approval-grants/"+h.grants("")[0].String(), "").Want(204, nil)
	h.vote(h.ClientKey, id, `"verdict":"approve","remember":{"scope":"run","match":"exact"}`).Want(200, nil)
}
