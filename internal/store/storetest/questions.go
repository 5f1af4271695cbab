package storetest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
)

var questionTests = map[string]func(*fixture){
	"every field of a question comes back":                          questionFields,
	"every field of a question of a local execution comes back":     localQuestionFields,
	"a command sees the questions that it names":                    questionsSeen,
	"large details of a question are a blob":                        largeQuestionDetails,
	"a command sees the senders of signals only if it needs them":   askersSeen,
	"questions are listed newest first, page by page":               questionsListed,
	"a list of questions is narrowed by each field of its filter":   questionsFiltered,
	"due questions are picked":                                      questionsPicked,
	"marks name the open questions and the newest ones":             questionMarks,
	"a question of another org or execution does not exist":         questionsApart,
	"the questions of an execution are deleted with it":             questionsDeleted,
	"a question of another execution than the command's is refused": questionElsewhere,
}

// question returns a new open question of an execution. The question is not stored. The functions
// in `edit` may change it before it is returned.
func (f *fixture) question(execution uuid.UUID, key string, edit ...func(*perdure.Question)) *perdure.Question {
	q := &perdure.Question{
		ID: perdure.QuestionID(execution, key), ExecutionID: execution, Org: org, Key: key, Status: perdure.QuestionOpen, Version: 1, CreatedAt: milestone(1),
		QuestionTerms: perdure.QuestionTerms{Kind: perdure.QuestionInput, Prompt: "why?"}, DetailsSHA256: perdure.DetailsHash(perdure.QuestionInput, "", nil),
	}
	for _, change := range edit {
		change(q)
	}
	return q
}

// ask stores questions of an execution, and updates the execution's number of open questions.
func (f *fixture) ask(execution uuid.UUID, questions ...*perdure.Question) {
	f.Helper()
	f.do(store.Command{Lane: store.LaneCommits, Org: org, Execution: execution, Needs: func(*perdure.Execution) store.Needs { return store.Needs{OpenQuestions: true} }, Decide: func(s *store.State) (*store.Changes, error) {
		open := map[uuid.UUID]bool{}
		for id := range s.Questions {
			open[id] = true
		}
		for _, q := range questions {
			delete(open, q.ID)
			if q.Status == perdure.QuestionOpen {
				open[q.ID] = true
			}
		}
		s.Execution.OpenQuestions = len(open)
		return &store.Changes{Execution: s.Execution, Questions: questions}, nil
	}})
}

func decided(q *perdure.Question) {
	q.Status, q.DecidedAt = perdure.QuestionAnswered, ptr(milestone(5))
	q.Answer = &perdure.Answer{Verdict: perdure.VerdictAnswer, Value: json.RawMessage(`"b"`), Reason: "so", By: "ada"}
	q.Version++
}

func questionFields(f *fixture) {
	x, key, entry, task := f.start(), uuid.New(), uuid.New(), uuid.New()
	q := f.question(x, "name#1", func(q *perdure.Question) {
		q.QuestionTerms = perdure.QuestionTerms{
			Kind: perdure.QuestionApproval, Subject: "bash", Prompt: "may I?", Schema: json.RawMessage(`{"type":"string"}`),
			Choices: []perdure.QuestionOption{{Value: "a", Label: "A", Description: "first"}, {Value: "b"}}, Needed: 2, NotAsker: true, By: []string{"admin"},
			OnExpiry: perdure.OnExpiryDefault, Default: json.RawMessage(`"b"`),
		}
		q.EntryID, q.CallID, q.Details, q.ExpiresAt = &entry, "call", json.RawMessage(`{"b":1, "a":2}`), ptr(milestone(9))
		q.DetailsSHA256 = perdure.DetailsHash(q.Kind, q.Subject, q.Details)
		q.Place = perdure.Place{ResponseID: "resp", TurnID: "turn", MessageID: "message"}
		q.Votes = []perdure.Vote{{AnswerID: "v1", KeyID: &key, Name: "ada", Verdict: perdure.VerdictAnswer, Value: json.RawMessage(`"b"`), Reason: "so", At: milestone(3)}}
	})
	for range 2 {
		f.ask(x, q)
		got, err := f.s.Question(f.ctx, org, q.ID)
		f.must(err)
		f.equal("the question", got, q)
		f.equal("the question decided on", f.look(x, store.Needs{Questions: []uuid.UUID{q.ID}}).Questions[q.ID], q)
		all, err := f.s.QuestionsOf(f.ctx, x, []uuid.UUID{uuid.New(), q.ID})
		f.must(err)
		f.equal("the question by its id, after one that does not exist", all, []*perdure.Question{nil, q})
		decided(q)
		q.TaskID = &task
		q.Votes = append(q.Votes, perdure.Vote{AnswerID: "v2", Name: "token", Verdict: perdure.VerdictAnswer, Value: json.RawMessage(`"b"`), At: milestone(4)})
	}
}

// largeQuestionDetails checks that details over perdure.InlineLimit are stored in a blob. The blob
// must remain when the question changes. A listed question must not contain the details.
func largeQuestionDetails(f *fixture) {
	x, large := f.start(), jsonText(perdure.InlineLimit+1)
	q := f.question(x, "large", func(q *perdure.Question) {
		q.Details, q.DetailsSHA256 = large, perdure.DetailsHash(q.Kind, q.Subject, large)
		q.NotAsker, q.Askers = true, []uuid.UUID{uuid.New(), uuid.Nil}
	})
	f.ask(x, q)
	for range 3 {
		got, err := f.s.Question(f.ctx, org, q.ID)
		f.must(err)
		if got.Details != nil || got.DetailsBlob == nil || got.DetailsBlob.Length != int64(len(large)) {
			f.Fatalf("the details are %d bytes in place, and the blob %+v", len(got.Details), got.DetailsBlob)
		}
		content, err := f.s.Blob(f.ctx, x, got.DetailsBlob.ID)
		f.must(err)
		raw, err := io.ReadAll(content)
		f.must(errors.Join(err, content.Close()))
		f.equal("the details", json.RawMessage(raw), large)
		f.equal("the askers", got.Askers, q.Askers)
		page, err := f.s.Questions(f.ctx, org, store.QuestionFilter{})
		f.must(err)
		f.equal("the listed question", page.Items, []*perdure.Question{got})
		f.equal("the question decided on", f.look(x, store.Needs{Questions: []uuid.UUID{q.ID}}).Questions[q.ID], got)
		q = got
		q.Version++
		q.Votes = append(q.Votes, perdure.Vote{AnswerID: fmt.Sprint(q.Version), Name: "ada", Verdict: perdure.VerdictApprove, At: milestone(3)})
		f.ask(x, q)
	}
}

func localQuestionFields(f *fixture) {
	x, sum := f.local(), perdure.Hash{3}
	q := f.question(x, "local", func(q *perdure.Question) {
		q.QuestionTerms = perdure.QuestionTerms{Kind: perdure.QuestionApproval, Subject: "bash", NoGrants: true, Withheld: &perdure.WithheldQuestion{
			WithheldContent: perdure.WithheldContent{SHA256: perdure.Hash{1}, Bytes: 10}, ValueSHA256: &sum, BareSHA256: perdure.Hash{2},
		}}
		q.Votes = []perdure.Vote{{AnswerID: "v1", Name: "ada", Verdict: perdure.VerdictApprove, Reason: "so", At: milestone(3)}}
		q.Details = json.RawMessage(`{"edited":1}`)
	})
	for range 2 {
		f.ask(x, q)
		got, err := f.s.Question(f.ctx, org, q.ID)
		f.must(err)
		f.equal("the question", got, q)
		decided(q)
		q.Details, q.Votes[0].Reason, q.Votes[0].ContentSHA256 = nil, "", &sum
		q.Answer = &perdure.Answer{Verdict: perdure.VerdictApprove, By: "ada", BareSHA256: &sum, Withheld: &perdure.WithheldContent{SHA256: perdure.Hash{4}, Bytes: 11}}
	}
}

func questionsSeen(f *fixture) {
	x := f.start()
	var all []*perdure.Question
	for i := range 4 {
		all = append(all, f.question(x, fmt.Sprint(i), func(q *perdure.Question) {
			q.ExpiresAt = ptr(f.s.Now().Add(time.Duration(i-1) * time.Hour)) // two of the questions are due
			if i == 0 {
				decided(q)
			}
		}))
	}
	f.ask(x, all...)
	for what, c := range map[string]struct {
		needs store.Needs
		want  []int
	}{
		"none":                           {store.Needs{}, nil},
		"two by id, one of them twice":   {store.Needs{Questions: []uuid.UUID{all[0].ID, all[2].ID, all[0].ID, uuid.New()}}, []int{0, 2}},
		"the open ones":                  {store.Needs{OpenQuestions: true}, []int{1, 2, 3}},
		"the open ones that are due":     {store.Needs{DueQuestions: true}, []int{1}},
		"the decided one":                {store.Needs{DecidedQuestions: true}, []int{0}},
		"all":                            {store.Needs{DecidedQuestions: true, OpenQuestions: true}, []int{0, 1, 2, 3}},
		"a decided one and the open one": {store.Needs{OpenQuestions: true, Questions: []uuid.UUID{all[0].ID}}, []int{0, 1, 2, 3}},
	} {
		want := map[uuid.UUID]*perdure.Question{}
		for _, i := range c.want {
			want[all[i].ID] = all[i]
		}
		got := f.look(x, c.needs).Questions
		if len(got) == 0 && len(want) == 0 {
			continue
		}
		f.equal(what, got, want)
	}
}

func askersSeen(f *fixture) {
	x, key := f.start(), uuid.New()
	f.signals(x, "a", "b", "c")
	f.change(x, func(s *store.State) *store.Changes {
		s.Execution.NextSignal++
		return &store.Changes{Execution: s.Execution, Signals: []perdure.Signal{{ID: "d", Name: "d", Value: json.RawMessage(`1`), State: perdure.SignalPending, KeyID: &key, CreatedAt: s.Now, Order: s.Execution.NextSignal}}}
	})
	f.change(x, func(*store.State) *store.Changes { return &store.Changes{Take: []string{"d"}} })
	open := f.question(x, "open")
	apart := f.question(x, "apart", func(q *perdure.Question) { q.NotAsker = true })
	named := f.question(x, "named", func(q *perdure.Question) { q.NotAsker, q.Askers = true, []uuid.UUID{key} })
	f.ask(x, open, apart, named)
	keys, err := f.s.SignalKeys(f.ctx, x)
	f.must(err)
	f.equal("the keys of the signals that were taken", keys, []uuid.UUID{key})
	for q, want := range map[uuid.UUID][]uuid.UUID{open.ID: nil, apart.ID: keys, named.ID: nil} {
		got := f.look(x, store.Needs{Questions: []uuid.UUID{q}, SignalKeys: true}).SignalKeys
		f.equal("the keys of the signals", got, want)
	}
	f.equal("the keys without a request", f.look(x, store.Needs{Questions: []uuid.UUID{apart.ID}}).SignalKeys, []uuid.UUID(nil))
}

// listed reads a list of questions page by page. It returns the keys of the questions and the number
// of pages.
func (f *fixture) listed(of string, filter store.QuestionFilter) (keys []string, pages int) {
	f.Helper()
	for {
		page, err := f.s.Questions(f.ctx, of, filter)
		f.must(err)
		pages++
		for _, q := range page.Items {
			keys = append(keys, q.Key)
		}
		if filter.Cursor = page.Next; filter.Cursor == "" {
			return keys, pages
		}
	}
}

func questionsListed(f *fixture) {
	var want []string
	x := f.start()
	for i := range 7 {
		f.ask(x, f.question(x, fmt.Sprint(i)))
		want = append([]string{fmt.Sprint(i)}, want...)
	}
	keys, pages := f.listed(org, store.QuestionFilter{Limit: 3})
	f.equal("the pages", pages, 3)
	f.equal("the list", keys, want)
	_, err := f.s.Questions(f.ctx, org, store.QuestionFilter{Cursor: "no cursor"})
	f.wantCode(err, perdure.InvalidArgument)
	// A page is also limited by its size in bytes, which includes the choices of the questions.
	option := perdure.QuestionOption{Value: "v", Description: strings.Repeat("x", 60_000)}
	large := f.start()
	for i := range store.PageBytes/60_000 + 2 {
		f.ask(large, f.question(large, fmt.Sprint("large ", i), func(q *perdure.Question) {
			q.Status, q.DecidedAt = perdure.QuestionWithdrawn, ptr(milestone(2))
			q.Choices = []perdure.QuestionOption{option}
		}))
	}
	if _, pages := f.listed(org, store.QuestionFilter{ExecutionID: &large, Limit: 200}); pages < 2 {
		f.Error("one page has more bytes than a page may have")
	}
}

func questionsFiltered(f *fixture) {
	x, y := f.start(), f.start()
	f.ask(x, f.question(x, "open"))
	f.ask(x, f.question(x, "answered", decided))
	f.ask(y, f.question(y, "withdrawn", func(q *perdure.Question) { q.Status, q.DecidedAt = perdure.QuestionWithdrawn, ptr(milestone(2)) }))
	f.ask(y, f.question(y, "approval", func(q *perdure.Question) { q.Kind, q.Subject = perdure.QuestionApproval, "bash" }))
	type filter = store.QuestionFilter
	for want, filter := range map[string]filter{
		"[approval withdrawn answered open]": {},
		"[approval open]":                    {Status: []perdure.QuestionStatus{perdure.QuestionOpen}},
		"[withdrawn answered]":               {Status: []perdure.QuestionStatus{perdure.QuestionAnswered, perdure.QuestionWithdrawn}},
		"[answered open]":                    {ExecutionID: &x},
		"[approval]":                         {Kind: perdure.QuestionApproval},
		"[withdrawn answered open]":          {Kind: perdure.QuestionInput},
		"[withdrawn]":                        {ExecutionID: &y, Status: []perdure.QuestionStatus{perdure.QuestionWithdrawn}},
		"[]":                                 {Subject: "bash", ExecutionID: &x},
	} {
		keys, _ := f.listed(org, filter)
		f.equal("the list", fmt.Sprint(keys), want)
	}
	keys, _ := f.listed(org, filter{Subject: "bash"})
	f.equal("the list by subject", fmt.Sprint(keys), "[approval]")
	for most, want := range map[int]int{1: 1, 10: 2} {
		n, err := f.s.OpenQuestions(f.ctx, org, most)
		f.must(err)
		f.equal("the number of open questions", n, want)
	}
}

func questionsPicked(f *fixture) {
	due := func(asked, ago time.Duration) func(*perdure.Question) {
		return func(q *perdure.Question) { q.CreatedAt, q.ExpiresAt = f.ago(asked), ptr(f.ago(ago)) }
	}
	old, new, later, done, never := f.start(), f.start(), f.start(), f.start(), f.start()
	f.ask(old, f.question(old, "q", due(10*time.Hour, 3*time.Hour)), f.question(old, "r", due(10*time.Hour, time.Hour)))
	f.ask(new, f.question(new, "q", due(5*time.Hour, 2*time.Hour)), f.question(new, "r", due(5*time.Hour, -time.Hour)))
	f.ask(later, f.question(later, "q", due(5*time.Hour, -time.Hour)))
	f.ask(done, f.question(done, "q", due(5*time.Hour, time.Hour), decided))
	f.ask(never, f.question(never, "q"))
	f.equal("the executions", f.picked("", store.Pick{Kind: store.PickQuestions, Limit: 10}), []uuid.UUID{old, new})
	f.equal("the executions of the org", f.picked(org, store.Pick{Kind: store.PickQuestions, Limit: 10}), []uuid.UUID{old, new})
	f.equal("those of questions asked lately", f.picked("", store.Pick{Kind: store.PickQuestions, Limit: 10, AskedSince: f.ago(6 * time.Hour)}), []uuid.UUID{new})
	f.equal("the first execution", f.picked("", store.Pick{Kind: store.PickQuestions, Limit: 1}), []uuid.UUID{old})
	f.equal("none of another org", f.picked("other", store.Pick{Kind: store.PickQuestions, Limit: 10}), []uuid.UUID(nil))
	f.do(store.Command{
		Lane: store.LaneSweeps, Pick: &store.Pick{Kind: store.PickQuestions, Limit: 1}, Decide: func(s *store.State) (*store.Changes, error) {
			if len(s.Questions) != 2 || s.Execution.ID != old {
				f.Errorf("the sweep sees %d questions of %s", len(s.Questions), s.Execution.ID)
			}
			return nil, nil
		},
	})
}

func questionMarks(f *fixture) {
	x := f.start()
	open, closed := f.question(x, "open"), f.question(x, "closed", decided)
	f.ask(x, open)
	f.ask(x, closed)
	marks, err := f.s.QuestionMarks(f.ctx, org, 10)
	f.must(err)
	seen := map[store.QuestionMark]bool{}
	for _, m := range marks {
		seen[m] = true
	}
	f.equal("the marks", seen, map[store.QuestionMark]bool{{ID: open.ID, Version: 1, Open: true}: true, {ID: closed.ID, Version: 2}: true})
	marks, err = f.s.QuestionMarks(f.ctx, "other", 10)
	f.must(err)
	f.equal("the marks of another org", len(marks), 0)
}

func questionsApart(f *fixture) {
	x, y := f.start(), f.start()
	q := f.question(x, "q")
	f.ask(x, q)
	_, err := f.s.Question(f.ctx, "other", q.ID)
	f.wantCode(err, perdure.NotFound)
	all, err := f.s.QuestionsOf(f.ctx, y, []uuid.UUID{q.ID})
	f.must(err)
	f.equal("the questions of another execution", all, []*perdure.Question{nil})
	f.equal("the questions that its command sees", len(f.look(y, store.Needs{Questions: []uuid.UUID{q.ID}}).Questions), 0)
	keys, _ := f.listed("other", store.QuestionFilter{ExecutionID: &x})
	f.equal("the list of another org", len(keys), 0)
}

func questionsDeleted(f *fixture) {
	x, y := f.start(), f.start()
	q, r := f.question(x, "q", decided), f.question(y, "q")
	f.ask(x, q)
	f.ask(y, r)
	f.endExecution(x, milestone(6))
	f.prune(x, store.Prune{Execution: true})
	f.drop(10)
	_, err := f.s.Question(f.ctx, org, q.ID)
	f.wantCode(err, perdure.NotFound)
	_, err = f.s.Question(f.ctx, org, r.ID)
	f.must(err)
}

func questionElsewhere(f *fixture) {
	x, y := f.start(), f.start()
	_, err := f.s.Do(f.ctx, store.Command{Lane: store.LaneCommits, Org: org, Execution: x, Decide: func(*store.State) (*store.Changes, error) {
		return &store.Changes{Questions: []*perdure.Question{f.question(y, "q")}}, nil
	}})
	if err == nil {
		f.Error("a command wrote a question of another execution")
	}
}
