package questions

import (
	"context"
	"strings"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/face/front"
	"github.com/perdure/perdure/internal/face/operation"
	"github.com/perdure/perdure/internal/face/title"
	"github.com/perdure/perdure/internal/store"
)

// openCounted is the maximum number of open questions of an org that the method `open` counts.
const openCounted = 1000

type listInput struct {
	operation.OrgInput
	operation.PageInput
	Status    []string `query:"status,explode" doc:"Any of open, answered, expired and withdrawn, repeated or separated by commas."`
	Kind      string   `query:"kind" doc:"approval, input, choice, budget, or a kind of the agent's own."`
	Subject   string   `query:"subject" doc:"What is asked about; of an approval, the tool."`
	Execution string   `query:"agentExecutionId"`
	Mine      bool     `query:"mine" doc:"Only open questions that this key may answer now."`
}

// parameters are the query parameters that the list of questions accepts.
var parameters = []string{"status", "kind", "subject", "agentExecutionId", "mine", "limit", "cursor"}

// questionList is the body of a page of the list of questions.
type questionList struct {
	operation.List[*perdure.Question]
	Open     int  `json:"open" doc:"How many questions of the org are open, whatever the filter; at most 1,000."`
	OpenMore bool `json:"openMore,omitempty" doc:"True if more than open are open."`
}

func (s *server) list(ctx context.Context, in *listInput) (*operation.Body[questionList], error) {
	if err := checkQuery(front.QueryOf(ctx), parameters...); err != nil {
		return nil, err
	}
	f, err := in.filter()
	if err != nil {
		return nil, err
	}
	page, err := s.Engine.Read().Questions(ctx, in.Org, f)
	if err != nil {
		return nil, err
	}
	if in.Mine {
		if page.Items, err = s.mine(ctx, in.Org, page.Items); err != nil {
			return nil, err
		}
	}
	if err := s.show(ctx, in.Org, page.Items...); err != nil {
		return nil, err
	}
	list := questionList{List: operation.ListOf(page.Items, page.Next).Body}
	list.Open, list.OpenMore, err = s.open(ctx, in.Org)
	return operation.BodyOf(list), err
}

// filter converts the query to a filter of the store. With the query parameter mine, the filter
// selects only open questions.
func (in *listInput) filter() (store.QuestionFilter, error) {
	f := store.QuestionFilter{Kind: perdure.QuestionKind(in.Kind), Subject: in.Subject, Cursor: in.Cursor, Limit: in.Limit}
	for _, given := range in.Status {
		for name := range strings.SplitSeq(given, ",") {
			if name = strings.TrimSpace(name); name == "" {
				continue
			}
			status := perdure.QuestionStatus(strings.ToLower(name))
			switch status {
			case perdure.QuestionOpen, perdure.QuestionAnswered, perdure.QuestionExpired, perdure.QuestionWithdrawn:
			default:
				return f, perdure.FieldErrorf("status", "%q must be open, answered, expired or withdrawn", name)
			}
			if in.Mine && status != perdure.QuestionOpen {
				return f, perdure.FieldErrorf("mine", "shows open questions; leave the status %q out", name)
			}
			f.Status = append(f.Status, status)
		}
	}
	if in.Mine {
		f.Status = []perdure.QuestionStatus{perdure.QuestionOpen}
	}
	if in.Execution != "" {
		id, err := front.ParseID("execution", in.Execution)
		if err != nil {
			return f, err
		}
		f.ExecutionID = &id
	}
	return f, nil
}

// mine returns the given questions that the caller may answer now.
func (s *server) mine(ctx context.Context, org string, questions []*perdure.Question) ([]*perdure.Question, error) {
	voter, err := s.Voter(ctx)
	if err != nil {
		return nil, err
	}
	return s.Engine.Questions.Answerable(ctx, org, questions, voter)
}

// open returns the number of open questions of an org, at most openCounted. It also reports
// whether the org has more.
func (s *server) open(ctx context.Context, org string) (int, bool, error) {
	n, err := s.Engine.Read().OpenQuestions(ctx, org, openCounted+1)
	return min(n, openCounted), n > openCounted, err
}

// show completes questions with data that is not in their rows: the titles of their executions, and
// the contents of questions of LOCAL executions.
func (s *server) show(ctx context.Context, org string, questions ...*perdure.Question) error {
	if err := s.Engine.Questions.Show(ctx, org, questions...); err != nil {
		return err
	}
	return s.addTitles(ctx, org, questions...)
}

// addTitles sets the execution title of each question. It reads the titles of all executions with
// one read of the store.
func (s *server) addTitles(ctx context.Context, org string, questions ...*perdure.Question) error {
	var ids []uuid.UUID
	titles := map[uuid.UUID]string{}
	for _, q := range questions {
		if _, known := titles[q.ExecutionID]; !known {
			titles[q.ExecutionID] = ""
			ids = append(ids, q.ExecutionID)
		}
	}
	found, err := s.Engine.Read().Outlines(ctx, org, ids)
	if err != nil {
		return err
	}
	for id, o := range found {
		titles[id] = title.Of(o.Input, "")
	}
	for _, q := range questions {
		q.ExecutionTitle = titles[q.ExecutionID]
	}
	return nil
}
