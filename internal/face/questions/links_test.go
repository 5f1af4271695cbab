package questions_test

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/face/facetest"
	"github.com/perdure/perdure/internal/longtest"
)

// link is a created link.
type link struct {
	perdure.QuestionLink
	URL string
}

// link creates a link and returns the path of its page.
func (h *testServer) link(question, key uuid.UUID) (link, string) {
	h.T.Helper()
	var l link
	h.as(h.AdminKey, "POST", "/questions/"+question.String()+"/links", `{"keyId":"`+key.String()+`"}`).Want(201, &l)
	path, found := strings.CutPrefix(l.URL, h.URL)
	if !found || !regexp.MustCompile(`^/q/[A-Za-z0-9_-]{43}$`).MatchString(path) {
		h.T.Fatalf("the link is %s, want /q/TOKEN at %s", l.URL, h.URL)
	}
	return l, "." + path
}

// open gets a page without a key.
func (h *testServer) open(path string) facetest.Reply {
	h.T.Helper()
	return h.Call("GET", path, "", "Authorization", "")
}

// hidden returns the hidden fields of the form on a page.
func hidden(page facetest.Reply) url.Values {
	fields := url.Values{}
	for _, found := range regexp.MustCompile(`type="hidden" name="(\w+)" value="([^"]*)"`).FindAllStringSubmatch(string(page.Body), -1) {
		fields.Set(found[1], found[2])
	}
	return fields
}

// submit sends the form of a page as a browser does.
func (h *testServer) submit(path string, page facetest.Reply, fields ...string) facetest.Reply {
	h.T.Helper()
	form := hidden(page)
	for i := 0; i < len(fields); i += 2 {
		form.Set(fields[i], fields[i+1])
	}
	return h.post(path, form)
}

func (h *testServer) post(path string, form url.Values) facetest.Reply {
	h.T.Helper()
	return h.Call("POST", path, form.Encode(), "Authorization", "", "Content-Type", "application/x-www-form-urlencoded", "Origin", "null")
}

// wantPage checks the status of a page, its texts and its headers.
func wantPage(t *testing.T, r facetest.Reply, status int, texts ...string) {
	t.Helper()
	_, main, _ := strings.Cut(string(r.Body), "<main>")
	if r.Status != status {
		t.Errorf("the page has the status %d, want %d: %s", r.Status, status, main)
	}
	for _, text := range texts {
		if !strings.Contains(main, text) {
			t.Errorf("the page lacks %q: %s", text, main)
		}
	}
	for name, value := range map[string]string{
		"Cache-Control": "no-store", "Referrer-Policy": "no-referrer", "X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY",
		"Content-Type": "text/html; charset=utf-8", "Cross-Origin-Opener-Policy": "same-origin",
	} {
		if got := r.Header.Get(name); got != value {
			t.Errorf("%s is %q, want %q", name, got, value)
		}
	}
	policy := r.Header.Get("Content-Security-Policy")
	for _, part := range []string{"default-src 'none'", "frame-ancestors 'none'", "form-action 'self'", "base-uri 'none'"} {
		if !strings.Contains(policy, part) {
			t.Errorf("the policy %q lacks %s", policy, part)
		}
	}
	if strings.Contains(policy, "unsafe") || strings.Contains(string(r.Body), "<script") {
		t.Errorf("the page permits scripts: %s", policy)
	}
}

const noLink = "This link does not work"

// TestALinkAnswersWithItsKey checks that the page shows the question and changes nothing, and that
// its form votes with the link's key.
func TestALinkAnswersWithItsKey(t *testing.T) {
	each(t, func(h *testServer) {
		t := h.T
		_, ann := h.newKey("Ann <b>", perdure.KeyApprover)
		a := h.start("Ship <it>.")
		id := a.ask("one")
		a.rest(id)
		l, path := h.link(id, ann)
		if l.QuestionID != id || l.KeyID != ann || l.QuestionVersion != 1 || l.ExpiresAt.Sub(l.CreatedAt.Time) != perdure.LinkLife {
			t.Errorf("the link is %+v", l)
		}
		var page facetest.Reply
		for range 3 {
			page = h.open(path)
			wantPage(t, page, 200, "Deploy it?", "Ship &lt;it&gt;.", "Ann &lt;b&gt;", "one", ">Approve<", ">Deny<")
		}
		if q := h.get(id); q.Version != 1 || len(q.Votes) != 0 {
			t.Errorf("opening the link changed the question: %+v", q)
		}
		wantPage(t, h.submit(path, page, "verdict", "approve", "reason", "fine"), 200, "Approved by Ann &lt;b&gt;.")
		q := h.get(id)
		if q.Answer == nil || q.Answer.Verdict != "approve" || q.Answer.By != "Ann <b>" || q.Answer.Reason != "fine" || *q.Votes[0].KeyID != ann {
			t.Errorf("the question is %+v", q)
		}
		if x := h.execution(a.ID); x.Status != perdure.StatusPending {
			t.Errorf("the run is %s", x.Status)
		}
		var log struct{ Items []perdure.AuditRecord }
		h.as(h.AdminKey, "GET", "/audit?limit=2", "").Want(200, &log)
		if r := log.Items[0]; r.Action != perdure.AuditQuestionAnswered || r.SubjectName != "approve by link" || r.Actor.Name != "Ann <b>" || *r.Actor.KeyID != ann || r.Actor.RemoteAddress == "" {
			t.Errorf("the newest record of the audit log is %+v", r)
		}
		if r := log.Items[1]; r.Action != perdure.AuditLinkCreated || r.Actor.Name != "test admin" || *r.SubjectID != id || r.SubjectName != "Ann <b>" {
			t.Errorf("the record before is %+v", r)
		}
		// The form is submitted again, with the same outcome. Afterwards the page shows who
		// answered, but no details.
		wantPage(t, h.submit(path, page, "verdict", "approve", "reason", "fine"), 200, "Approved by Ann &lt;b&gt;.")
		page = h.open(path)
		wantPage(t, page, 200, "Approved by Ann &lt;b&gt;.")
		if strings.Contains(string(page.Body), q.Subject) || strings.Contains(string(page.Body), "<pre") || strings.Contains(string(page.Body), "Deploy it?") || strings.Contains(string(page.Body), "<form") {
			t.Errorf("a used link shows %s", page.Body)
		}
		wantPage(t, h.submit(path, page, "verdict", "deny", "detailsSha256", q.DetailsSHA256.String()), 409, "Approved by Ann")
	})
}

// TestALinkDeniesWithAReason checks that the form of a link can deny with a reason.
func TestALinkDeniesWithAReason(t *testing.T) {
	h := open(t)
	_, ann := h.newKey("Ann", perdure.KeyApprover)
	a := h.start("x")
	id := a.ask("one")
	_, path := h.link(id, ann)
	wantPage(t, h.submit(path, h.open(path), "verdict", "deny", "reason", "not <today>"), 200, "Denied by Ann")
	if q := h.get(id); q.Answer == nil || q.Answer.Verdict != "deny" || q.Answer.Reason != "not <today>" {
		t.Errorf("the question is %+v", q)
	}
}

// TestLinksEnd checks each way in which a link ends. Afterwards the server responds as to an
// unknown token, and the link can no longer vote.
func TestLinksEnd(t *testing.T) {
	each(t, func(h *testServer) {
		t := h.T
		ended := h.open("./q/" + strings.Repeat("A", 43))
		wantPage(t, ended, 404, noLink)
		for name, end := range map[string]func(id, key uuid.UUID, path string){
			"the vote of its key": func(id, _ uuid.UUID, path string) {
				wantPage(t, h.submit(path, h.open(path), "verdict", "approve"), 200, "1 of 2 votes")
			},
			"the revocation of its key": func(_, key uuid.UUID, _ string) { h.as(h.AdminKey, "DELETE", "/keys/"+key.String(), "").Want(200, nil) },
			"an edit": func(id, _ uuid.UUID, _ string) {
				h.vote(h.ClientKey, id, `"verdict":"approve","details":{"plan":"other"}`).Want(200, nil)
			},
			"its revocation": func(id, key uuid.UUID, _ string) {
				h.as(h.AdminKey, "DELETE", "/questions/"+id.String()+"/links?keyId="+key.String(), "").Want(204, nil)
			},
			"time": func(uuid.UUID, uuid.UUID, string) { h.shift += perdure.LinkLife },
		} {
			_, key := h.newKey(name, perdure.KeyApprover)
			a := h.start("x")
			id := a.ask("one", func(n *perdure.NewQuestion) { n.Kind, n.Needed, n.Edit = "plan", 2, perdure.EditClient })
			_, path := h.link(id, key)
			page := h.open(path)
			wantPage(t, page, 200, ">Approve<")
			end(id, key, path)
			before := h.get(id)
			if r := h.open(path); r.Status != 404 || string(r.Body) != string(ended.Body) {
				t.Errorf("after %s the page is %d %s", name, r.Status, r.Body)
			}
			if name != "the vote of its key" { // a repeated vote gets its first outcome
				if r := h.submit(path, page, "verdict", "approve"); r.Status != 404 || string(r.Body) != string(ended.Body) {
					t.Errorf("after %s the form gets %d %s", name, r.Status, r.Body)
				}
			}
			fresh := page
			fresh.Body = []byte(strings.ReplaceAll(string(page.Body), hidden(page).Get("answerId"), uuid.NewString()))
			if r := h.submit(path, fresh, "verdict", "deny"); r.Status != 404 || string(r.Body) != string(ended.Body) {
				t.Errorf("after %s another form gets %d %s", name, r.Status, r.Body)
			}
			if q := h.get(id); q.Version != before.Version {
				t.Errorf("after %s the link still votes: %+v", name, q)
			}
		}
	})
}

// TestALinkOutlivesOtherVotes checks that links stay valid when other keys vote.
func TestALinkOutlivesOtherVotes(t *testing.T) {
	h := open(t)
	_, ann := h.newKey("Ann", perdure.KeyApprover)
	_, ben := h.newKey("Ben", perdure.KeyApprover)
	a := h.start("x")
	id := a.ask("one", func(n *perdure.NewQuestion) { n.Needed = 2 })
	_, first := h.link(id, ann)
	_, second := h.link(id, ben)
	page := h.open(second)
	wantPage(t, h.submit(first, h.open(first), "verdict", "approve"), 200, "1 of 2 votes")
	wantPage(t, h.submit(second, page, "verdict", "approve"), 200, "Approved by Ben")
}

// TestALinkRefusesWhatItsKeyMayNot checks that no link is created for a key that may not answer the
// question. A vote through a link is refused if the link's key may not cast that vote.
func TestALinkRefusesWhatItsKeyMayNot(t *testing.T) {
	h := open(t)
	_, ann := h.newKey("Ann", perdure.KeyApprover)
	_, worker := h.newKey("w", perdure.KeyWorker)
	other, _, err := h.Engine.CreateKey(t.Context(), "other", "foreign", perdure.KeyAdmin)
	if err != nil {
		t.Fatal(err)
	}
	a := h.start("x")
	id, admins := a.ask("one"), a.ask("admins", func(n *perdure.NewQuestion) { n.By = []string{"admin"} })
	for _, c := range []struct {
		name, body, field string
		question          uuid.UUID
	}{
		{"a worker's key", `{"keyId":"` + worker.String() + `"}`, "keyId", id},
		{"a key of another org", `{"keyId":"` + other.ID.String() + `"}`, "keyId", id},
		{"a key that the question excludes", `{"keyId":"` + ann.String() + `"}`, "keyId", admins},
		{"no id", `{"keyId":"ann"}`, "keyId", id},
		{"no key", `{}`, "keyId", id},
		{"too long", `{"keyId":"` + ann.String() + `","expires":"169h"}`, "expires", id},
		{"no time", `{"keyId":"` + ann.String() + `","expires":"0s"}`, "expires", id},
		{"the past", `{"keyId":"` + ann.String() + `","expires":"-1h"}`, "expires", id},
		{"no duration", `{"keyId":"` + ann.String() + `","expires":"soon"}`, "expires", id},
		{"another member", `{"keyId":"` + ann.String() + `","url":"x"}`, "url", id},
	} {
		r := h.as(h.AdminKey, "POST", "/questions/"+c.question.String()+"/links", c.body)
		if r.Status != 400 && r.Status != 422 || !strings.Contains(string(r.Body), c.field) {
			t.Errorf("%s is answered %d %s", c.name, r.Status, r.Body)
		}
	}
	body := `{"keyId":"` + ann.String() + `"}`
	for _, key := range []string{h.ClientKey, h.approver, h.WorkerKey} {
		for _, method := range []string{"GET", "POST", "DELETE"} {
			h.as(key, method, "/questions/"+id.String()+"/links", map[string]string{"POST": body}[method]).Want(403, nil)
		}
	}
	h.as(h.AdminKey, "POST", "/questions/"+uuid.NewString()+"/links", body).Problem(404, "not_found", "")
	h.vote(h.AdminKey, admins, `"verdict":"deny"`).Want(200, nil)
	h.as(h.AdminKey, "POST", "/questions/"+admins.String()+"/links", body).Problem(409, "question_decided", "")
	var list struct{ Items []perdure.QuestionLink }
	h.as(h.AdminKey, "GET", "/questions/"+id.String()+"/links", "").Want(200, &list)
	if len(list.Items) != 0 {
		t.Errorf("refused requests created %v", list.Items)
	}
}

// TestLinksAreListedAndLimited checks the list of a question's links, their maximum number, and the
// revocation of all links.
func TestLinksAreListedAndLimited(t *testing.T) {
	each(t, func(h *testServer) {
		t := h.T
		_, ann := h.newKey("Ann", perdure.KeyApprover)
		_, ben := h.newKey("Ben", perdure.KeyApprover)
		id := h.start("x").ask("one")
		_, oldest := h.link(id, ann)
		_, bens := h.link(id, ben)
		for range perdure.MaxLinks {
			h.shift += time.Second
			h.link(id, ann)
		}
		r := h.as(h.AdminKey, "GET", "/questions/"+id.String()+"/links", "")
		var list struct{ Items []perdure.QuestionLink }
		r.Want(200, &list)
		if len(list.Items) != perdure.MaxLinks+1 || list.Items[0].KeyID != ann || list.Items[perdure.MaxLinks].KeyID != ben {
			t.Errorf("the list is %s", r.Body)
		}
		if strings.Contains(strings.ToLower(string(r.Body)), "token") {
			t.Errorf("the list shows tokens: %s", r.Body)
		}
		wantPage(t, h.open(oldest), 404, noLink)
		wantPage(t, h.open(bens), 200)
		h.as(h.AdminKey, "DELETE", "/questions/"+id.String()+"/links", "").Want(204, nil)
		wantPage(t, h.open(bens), 404, noLink)
		var log struct{ Items []perdure.AuditRecord }
		h.as(h.AdminKey, "GET", "/audit?limit=1", "").Want(200, &log)
		if got := log.Items[0]; got.Action != perdure.AuditLinksRevoked || *got.SubjectID != id || got.SubjectName != "all links" {
			t.Errorf("the audit log has %+v", got)
		}
	})
}

// TestALinkWithoutDetailsOnlyDenies checks that the page of a link has no button but Deny if the
// question's details are too large to be shown, for each kind of question.
func TestALinkWithoutDetailsOnlyDenies(t *testing.T) {
	h := open(t)
	_, ann := h.newKey("Ann", perdure.KeyApprover)
	a := h.start("x")
	for kind, change := range map[perdure.QuestionKind]func(*perdure.NewQuestion){
		perdure.QuestionApproval: func(*perdure.NewQuestion) {},
		perdure.QuestionInput:    func(n *perdure.NewQuestion) { n.Schema = []byte(`{"type":"string"}`) },
		perdure.QuestionChoice:   func(n *perdure.NewQuestion) { n.Choices = []perdure.QuestionOption{{Value: "a"}, {Value: "b"}} },
	} {
		id := a.ask(string(kind), func(n *perdure.NewQuestion) {
			n.Kind, n.Details = kind, []byte(`{"plan":"`+strings.Repeat("x", 300<<10)+`"}`)
			change(n)
		})
		_, path := h.link(id, ann)
		page := h.open(path)
		buttons := regexp.MustCompile(`name="verdict" value="(\w+)"`).FindAllStringSubmatch(string(page.Body), -1)
		if len(buttons) != 1 || buttons[0][1] != "deny" || strings.Contains(string(page.Body), `id="answer`) {
			t.Errorf("%s: the page has the buttons %q:\n%s", kind, buttons, page.Body)
		}
		h.submit(path, page, "verdict", "deny").Want(200, nil)
		if q := h.get(id); q.Answer == nil || q.Answer.Verdict != perdure.VerdictDeny {
			t.Errorf("%s: it is answered with %+v", kind, q.Answer)
		}
	}
}

// TestTheFormsOfAnswers checks the form on the page of a question, for choices and for JSON
// Schemas: its fields, the error for values that do not fit, and the answer that is made from
// values that fit.
func TestTheFormsOfAnswers(t *testing.T) {
	h := open(t)
	_, ann := h.newKey("Ann", perdure.KeyApprover)
	a := h.start("x")
	kind := func(schema string, choices ...string) func(*perdure.NewQuestion) {
		return func(n *perdure.NewQuestion) {
			n.Kind = perdure.QuestionInput
			if schema != "" {
				n.Schema = []byte(schema)
			}
			if len(choices) > 0 {
				n.Kind = perdure.QuestionChoice
			}
			for _, c := range choices {
				n.Choices = append(n.Choices, perdure.QuestionOption{Value: c, Label: "the " + c})
			}
		}
	}
	const object = `{"type":"object","required":["days","size"],"properties":{"note":{"type":"string","title":"A note"},"days":{"type":"integer"},"size":{"type":"string","enum":["s","l"]},"fast":{"type":"boolean"},"rate":{"type":"number"}}}`
	for name, c := range map[string]struct {
		ask    func(*perdure.NewQuestion)
		shown  []string
		bad    []string
		says   string
		good   []string
		answer string
	}{
		"object": {
			kind(object),
			[]string{`name="answer.days"`, ">A note (optional)<", "<option>l</option>"},
			[]string{"answer.days", "two", "answer.size", "l"},
			"days must be a number",
			[]string{"answer.days", "2", "answer.size", "l", "answer.fast", "false"},
			`{"days":2,"size":"l","fast":false}`,
		},
		"object that does not fit": {
			kind(object), nil, []string{"answer.days", "2.5", "answer.size", "l"}, "answer.days", []string{"answer.days", "2", "answer.size", "s", "answer.note", "ä \"b\"", "answer.rate", "1e3"}, `{"days":2,"size":"s","note":"ä \"b\"","rate":1e3}`,
		},
		"missing": {
			kind(object), nil, []string{"answer.days", "", "answer.size", "l"}, "days is missing", []string{"answer.days", "3", "answer.size", "l"}, `{"days":3,"size":"l"}`,
		},
		"choice": {
			kind("", "red", "blue"), []string{"the red", `value="blue"`}, nil, "Choose an answer", []string{"answer", "blue"}, `"blue"`,
		},
		"no choice": {
			kind("", "red", "blue"), nil, []string{"answer", "green"}, "answer", []string{"answer", "red"}, `"red"`,
		},
		"missing text of an object": {
			kind(`{"type":"object","required":["text"],"properties":{"text":{"type":"string"}}}`),
			[]string{`name="answer.text" value="" required`},
			nil, "text is missing",
			[]string{"answer.text", "fine"},
			`{"text":"fine"}`,
		},
		"missing text": {
			kind(`{"type":"string"}`), nil, nil, "The answer is missing", []string{"answer", "abc"}, `"abc"`,
		},
		"text": {
			kind(`{"type":"string","maxLength":3}`), nil, []string{"answer", "four"}, "answer", []string{"answer", "abc"}, `"abc"`,
		},
		"list": {
			kind(`{"type":"array","items":{"type":"integer"}}`), []string{"Answer, as JSON"}, []string{"answer", "[1,"}, "is not JSON", []string{"answer", "[1, 2]"}, `[1,2]`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			id := a.ask(name, c.ask)
			_, path := h.link(id, ann)
			page := h.open(path)
			wantPage(t, page, 200, append(c.shown, ">Answer<", ">Deny<")...)
			bad := h.submit(path, page, append(c.bad, "verdict", "answer", "reason", "kept")...)
			wantPage(t, bad, 400, c.says, "kept", `role="alert"`)
			if q := h.get(id); q.Version != 1 {
				t.Errorf("a refused form changed the question: %+v", q)
			}
			wantPage(t, h.submit(path, bad, append(c.good, "verdict", "answer")...), 200, "Answered by Ann")
			if q := h.get(id); q.Answer == nil || string(q.Answer.Value) != c.answer {
				t.Errorf("the answer is %+v, want %s", q.Answer, c.answer)
			}
		})
	}
}

// TestFormsThatAreRefused checks that a request is refused if the form of the page cannot have sent
// it.
func TestFormsThatAreRefused(t *testing.T) {
	longtest.Skip(t, "seconds")
	h := open(t)
	_, ann := h.newKey("Ann", perdure.KeyApprover)
	id := h.start("x").ask("one")
	_, path := h.link(id, ann)
	page := h.open(path)
	form := hidden(page)
	form.Set("verdict", "approve")
	wantPage(t, h.Call("POST", path, `{"verdict":"approve"}`, "Authorization", "", "Content-Type", "application/json"), 400)
	wantPage(t, h.post(path, url.Values{"verdict": {"approve"}}), 400)
	wantPage(t, h.submit(path, page, "verdict", "perhaps"), 400)
	wantPage(t, h.submit(path, page), 400)
	wantPage(t, h.submit(path, page, "verdict", "answer", "answer", `"x"`), 400)
	wantPage(t, h.submit(path, page, "verdict", "deny", "reason", strings.Repeat("x", perdure.MaxAnswerReason+1)), 400)
	wantPage(t, h.submit(path, page, "verdict", "deny", "reason", strings.Repeat("x", 2<<20)), 400)
	wantPage(t, h.submit(path, page, "verdict", "approve", "detailsSha256", strings.Repeat("0", 64)), 409, "has changed", ">Approve<")
	wantPage(t, h.submit(path, page, "verdict", "deny", "detailsSha256", strings.Repeat("0", 64)), 409, "has changed")
	if q := h.get(id); q.Version != 1 {
		t.Errorf("refused forms changed the question: %+v", q)
	}
	if r := h.Call("PUT", path, "", "Authorization", ""); r.Status != http.StatusMethodNotAllowed {
		t.Errorf("PUT is answered %d", r.Status)
	}
}
