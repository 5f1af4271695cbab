package engine

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/engine/questions"
)

// withheldQuestion returns the question in the form in which a worker commits it for a LOCAL
// execution: without the content, which only the worker stores.
func (k *keeper) withheldQuestion(n perdure.NewQuestion) perdure.NewQuestion {
	k.Helper()
	if n.EntryID == nil {
		n.DetailsSHA256 = perdure.DetailsHash(n.Kind, n.Subject, n.Details)
	}
	k.must(n.Check("question"))
	n, content := n.Withhold()
	k.put(content)
	return n
}

// marked returns a question of kind approval whose texts contain the constant `mark`. The method
// atRest looks for this text in the store's files.
func marked(key string) perdure.NewQuestion {
	return perdure.NewQuestion{Key: key, Details: quotedObject("details"), QuestionTerms: perdure.QuestionTerms{
		Kind: perdure.QuestionApproval, Subject: "bash", Prompt: mark, Edit: perdure.EditClient,
	}}
}

// ask lets the keeper's execution ask a question, and returns the question's id.
func (k *keeper) ask(n perdure.NewQuestion) uuid.UUID {
	k.Helper()
	asked := k.withheldQuestion(n)
	k.commit(func(c *perdure.Commit) { c.Questions = []perdure.NewQuestion{asked} })
	return perdure.QuestionID(k.id, n.Key)
}

// stored returns the question as it is stored.
func (b *bench) stored(id uuid.UUID) *perdure.Question {
	b.Helper()
	q, err := b.s.Question(b.Context(), org, id)
	b.must(err)
	return q
}

// TestTheModeSaysWhereAQuestionIs checks that a LOCAL execution can ask questions only by reference
// to their content, and a REMOTE execution only with inline content. A repeated question of a LOCAL
// execution is recognised by the reference.
func TestTheModeSaysWhereAQuestionIs(t *testing.T) {
	k := newKeeper(t)
	byValue := marked("q")
	byValue.DetailsSHA256 = perdure.DetailsHash(byValue.Kind, byValue.Subject, byValue.Details)
	asked := k.withheldQuestion(byValue)
	long := asked
	long.Withheld = new(*asked.Withheld)
	long.Withheld.Bytes = perdure.MaxQuestionContent + 1
	both := asked
	both.Prompt = mark
	for name, c := range map[string]struct {
		q  perdure.NewQuestion
		in string
	}{"by value": {byValue, "stays on its worker"}, "both": {both, "withheld"}, "too long": {long, "withheld.bytes"}} {
		_, err := k.try(func(c2 *perdure.Commit) { c2.Questions = []perdure.NewQuestion{c.q} })
		k.wantCode(err, perdure.InvalidArgument)
		if !strings.Contains(err.Error(), c.in) || strings.Contains(err.Error(), mark) {
			t.Errorf("%s: %v", name, err)
		}
	}
	k.commit(func(c *perdure.Commit) { c.Questions = []perdure.NewQuestion{asked} })
	k.commit(func(c *perdure.Commit) { c.Questions = []perdure.NewQuestion{asked} })
	other := marked("q")
	other.Details = json.RawMessage(`{}`)
	other = k.withheldQuestion(other)
	_, err := k.try(func(c *perdure.Commit) { c.Questions = []perdure.NewQuestion{other} })
	k.wantCode(err, perdure.IdempotencyKeyReused)
	form := perdure.NewQuestion{Key: "form", QuestionTerms: perdure.QuestionTerms{Kind: perdure.QuestionInput, Schema: json.RawMessage(`{"type":"object"}`)}}
	k.ask(form)
	form.Schema = json.RawMessage(`{ "type": "object" }`) // the same schema, written differently
	k.ask(form)
	form.Schema = json.RawMessage(`{"type":"string"}`)
	changed := k.withheldQuestion(form)
	_, err = k.try(func(c *perdure.Commit) { c.Questions = []perdure.NewQuestion{changed} })
	k.wantCode(err, perdure.IdempotencyKeyReused)

	h := newBench(t).started()
	_, err = h.try(func(c *perdure.Commit) { c.Questions = []perdure.NewQuestion{asked} })
	h.wantCode(err, perdure.InvalidArgument)
	_, err = h.try(func(c *perdure.Commit) { c.Decisions = []perdure.StoredDecision{{Question: uuid.New()}} })
	h.wantCode(err, perdure.InvalidArgument)
}

// TestAnswersOfLocalExecutionsAreErased checks when the server erases the texts and values that
// people have written: when the worker has stored them, when the question ends without an answer,
// and at the end of the execution. The log of the execution and the audit log never contain these
// texts and values.
func TestAnswersOfLocalExecutionsAreErased(t *testing.T) {
	k := newKeeper(t)
	k.serve()
	taken, left, lost := k.ask(marked("taken")), k.ask(marked("left")), k.ask(marked("lost"))
	two := marked("two")
	two.Needed = 2
	undecided := k.ask(two)
	k.sweep()
	k.atRest("with open questions")
	vote := func(id uuid.UUID, r questions.AnswerRequest) {
		t.Helper()
		r.Question, r.Role, r.DetailsSHA256, r.Reason = id, perdure.KeyAdmin, &k.stored(id).DetailsSHA256, mark
		_, err := k.e.Answer(t.Context(), org, r)
		k.must(err)
	}
	vote(taken, questions.AnswerRequest{Verdict: perdure.VerdictApprove, Details: quotedObject("edit")})
	vote(left, questions.AnswerRequest{Verdict: perdure.VerdictDeny})
	vote(undecided, questions.AnswerRequest{Verdict: perdure.VerdictApprove})
	if q := k.stored(taken); q.Answer.Reason != mark || q.Details == nil {
		t.Errorf("the answer is not there for the worker: %+v", q)
	}
	decision := k.stored(taken).Decision().Encode()
	k.put(decision)
	ref := perdure.ContentRef(k.id, decision)
	said := perdure.StoredDecision{Question: taken, WithheldContent: perdure.WithheldContent{SHA256: ref.SHA256, Bytes: ref.Length}}
	for name, wrong := range map[string]perdure.StoredDecision{
		"another hash": {Question: taken, WithheldContent: perdure.WithheldContent{SHA256: perdure.Hash{1}, Bytes: ref.Length}},
		"an open one":  {Question: lost, WithheldContent: said.WithheldContent},
		"no question":  {Question: uuid.New(), WithheldContent: said.WithheldContent},
	} {
		k.commit(func(c *perdure.Commit) { c.Decisions = []perdure.StoredDecision{wrong} })
		if q := k.stored(taken); q.Answer.Reason != mark || q.Version != 2+1 {
			t.Errorf("a report with %s changed the question: %+v", name, q)
		}
	}
	for range 2 {
		k.commit(func(c *perdure.Commit) { c.Decisions = []perdure.StoredDecision{said} })
	}
	q := k.stored(taken)
	if q.Answer.Reason != "" || q.Details != nil || q.Votes[0].Reason != "" || q.Answer.Withheld == nil || *q.Answer.Withheld != said.WithheldContent || q.Votes[0].ContentSHA256 == nil {
		t.Errorf("the decision that the worker has is stored as %+v, %+v", q, q.Answer)
	}
	k.must(k.e.Questions.Show(t.Context(), org, q))
	if q.Answer.Reason != mark || string(q.Details) != string(quotedObject("edit")) || q.Prompt != mark {
		t.Errorf("it is shown as %+v, %+v", q, q.Answer)
	}
	k.commit(func(c *perdure.Commit) { c.Withdraw = []uuid.UUID{undecided} })
	if q := k.stored(undecided); q.Votes[0].Reason != "" || q.Votes[0].ContentSHA256 == nil {
		t.Errorf("the vote about a withdrawn question is stored as %+v", q.Votes)
	}
	k.commit(func(c *perdure.Commit) { c.Outcome.Kind = perdure.OutcomeComplete })
	if q := k.stored(left); q.Answer.Verdict != perdure.VerdictDeny || q.Answer.Withheld == nil {
		t.Errorf("the answer that nobody read is stored as %+v", q.Answer)
	}
	for _, r := range k.log(k.id) {
		if bytes.Contains(r.Fields, []byte(mark)) {
			t.Errorf("the log has %s", r.Fields)
		}
	}
	k.sweep()
	k.atRest("after the end")
	k.must(k.s.Close())
	k.atRest("after Close")
	k.open()
}

// TestTheGateOfALocalExecution checks that an approval permits one task whose input has the
// approved hash. The worker, not the server, decides whether a rule permits a task. The server
// refuses a task whose clearance (the worker's statement why the task may run) names neither an
// approval nor a rule.
func TestTheGateOfALocalExecution(t *testing.T) {
	b := newBench(t)
	ask := perdure.ApprovalPolicy{{Tools: []string{"*"}, Then: perdure.ApprovalAsk, Edit: perdure.EditClient}}
	x, err := b.e.Start(t.Context(), org, StartRequest{
		UserPrompt: "go", Models: []perdure.ModelConfig{{Provider: "scripted", ModelID: "m"}}, Approvals: ask, PersistenceMode: perdure.Local,
	})
	b.must(err)
	poll := b.localPoll(b.worker)
	poll.Kinds, poll.Features = []string{perdure.ReactKind}, perdure.FeatureContext|perdure.FeatureQuestions
	claims, err := b.d.PollAgents(t.Context(), poll)
	b.must(err)
	if len(claims) != 0 {
		t.Fatal("a worker that keeps no questions claims it")
	}
	poll.Features = perdure.AllFeatures
	claims, err = b.d.PollAgents(t.Context(), poll)
	b.must(err)
	k := &keeper{&holder{bench: b, claim: claims[0], id: x.ID}, &shelf{all: map[perdure.Hash][]byte{}}}
	k.put(claims[0].Execution.Input)
	k.serve()
	const touch, other, edited = `{"command":"touch a"}`, `{"command":"touch b"}`, `{"command": "touch c"}`
	approve := func(key string, r questions.AnswerRequest) uuid.UUID {
		t.Helper()
		n := marked(key)
		n.Details = json.RawMessage(touch)
		id := k.ask(n)
		r.Question, r.Role, r.DetailsSHA256 = id, perdure.KeyAdmin, &k.stored(id).DetailsSHA256
		_, err := k.e.Answer(t.Context(), org, r)
		k.must(err)
		return id
	}
	yes, no := approve("yes", questions.AnswerRequest{Verdict: perdure.VerdictApprove}), approve("no", questions.AnswerRequest{Verdict: perdure.VerdictDeny})
	changed := approve("changed", questions.AnswerRequest{Verdict: perdure.VerdictApprove, Details: json.RawMessage(edited)})
	task := func(key, arguments string, c *perdure.Clearance) error {
		n := k.callOf(key, arguments, c)
		n.Input = k.ref([]byte(arguments))
		_, err := k.try(func(c *perdure.Commit) { c.Tasks = []perdure.NewTask{n} })
		return err
	}
	by := func(id uuid.UUID) *perdure.Clearance { return &perdure.Clearance{Question: &id} }
	for name, err := range map[string]error{
		"no clearance":     task("1", touch, nil),
		"other arguments":  task("1", other, by(yes)),
		"a denied one":     task("1", touch, by(no)),
		"before the edit":  task("1", touch, by(changed)),
		"a question of no": task("1", touch, by(uuid.New())),
	} {
		if !perdure.IsCode(err, perdure.PermissionDenied) {
			t.Errorf("%s: %v", name, err)
		}
	}
	k.must(task("1", touch, by(yes)))
	b.wantCode(task("2", touch, by(yes)), perdure.PermissionDenied)
	k.must(task("3", edited, by(changed)))
	number := 0
	k.must(task("4", other, &perdure.Clearance{Rule: &number}))
	if q := k.stored(yes); q.TaskID == nil || *q.TaskID != perdure.TaskID(perdure.CallerTaskKey(k.id, "bash", "1")) {
		t.Errorf("the question names the task %v", q.TaskID)
	}
}

// TestAWorkerThatMisstatesAQuestion checks a question of a LOCAL execution whose hashes do not
// match its content. The question can be denied but not approved. If the worker changes the content
// of a question after it was asked, the server does not show the content.
func TestAWorkerThatMisstatesAQuestion(t *testing.T) {
	k := newKeeper(t)
	k.serve()
	call := `{"command":"rm"}`
	message := user(nil, "x")
	message.Role = perdure.RoleAssistant
	var err error
	message.Content, err = json.Marshal(perdure.Content{Parts: []perdure.Part{{Type: perdure.PartToolCall, ID: "c", Name: "bash", Arguments: json.RawMessage(call), RawArguments: call}}})
	k.must(err)
	entry := message.ID
	message = k.entry(message)
	k.commit(func(c *perdure.Commit) { c.Entries = []perdure.NewEntry{message} })
	for key, stated := range map[string]string{"true": call, "false": `{"command":"ls"}`} {
		n := perdure.NewQuestion{
			Key: key, EntryID: &entry, CallID: "c", DetailsSHA256: perdure.DetailsHash(perdure.QuestionApproval, "bash", []byte(call)),
			BareSHA256:    perdure.ContentRef(k.id, []byte(stated)).SHA256,
			QuestionTerms: perdure.QuestionTerms{Kind: perdure.QuestionApproval, Subject: "bash"},
		}
		id := k.ask(n)
		_, err := k.e.Answer(t.Context(), org, questions.AnswerRequest{Question: id, Verdict: perdure.VerdictApprove, DetailsSHA256: &n.DetailsSHA256, Role: perdure.KeyAdmin})
		if want := perdure.DetailsChanged; key == "false" && !perdure.IsCode(err, want) || key == "true" && err != nil {
			t.Errorf("stated as %s: %v", stated, err)
		}
	}
	late := k.ask(marked("late"))
	k.change = func([]byte) []byte { return []byte("something else") }
	q := k.stored(late)
	k.must(k.e.Questions.Show(t.Context(), org, q))
	if q.Prompt != "" || !q.OnWorker() {
		t.Errorf("changed content is shown: %+v", q)
	}
	_, err = k.e.Answer(t.Context(), org, questions.AnswerRequest{Question: late, Verdict: perdure.VerdictApprove, DetailsSHA256: &q.DetailsSHA256, Role: perdure.KeyAdmin})
	k.wantCode(err, perdure.Unavailable)
}
