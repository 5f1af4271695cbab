package links

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/engine/questions"
	"github.com/perdure/perdure/internal/visible"
)

// view contains the texts that a page shows. Package visible has already replaced the characters
// that could deceive a reader.
type view struct {
	Title   string
	Message string // shown instead of a question
	// The fields below are set for a question that can be answered.
	Question  bool
	Prompt    string
	Run       string
	Voter     string
	AskedAt   string
	ExpiresAt string
	Needed    string // says how many of the needed votes are given; "" if one is enough
	Details   []member
	Problem   string
	// Unshown is set if the page does not show the question's details, and says why. The question
	// can then only be denied.
	Unshown string

	DetailsSHA256, AnswerID, Reason string
	MaxReason                       int
	Choices                         []choice
	Fields                          []field
	Whole                           bool // the form has one field for the whole answer
	WholeIsText                     bool // the answer is a text and not JSON
	Given                           string
	TakesValue                      bool
}

// member is a named part of a question's details.
type member struct{ Name, Text string }

type choice struct {
	Value, Label, Description string
	Chosen                    bool
}

const (
	timeFormat = "2 January 2006, 15:04 MST"
	// tooLarge is the size in bytes above which details are not shown.
	tooLarge = perdure.ShownLimit
)

// ask sends the page with the question and its form. The parameter `given` is a submitted form that
// was refused, whose values are shown again; nil if no form was submitted.
func (v *visit) ask(status int, given *form) {
	q := v.Question
	run, err := v.titleOf(q.ExecutionID)
	if err != nil {
		v.failed(v.w, v.r, err)
		return
	}
	page := view{
		Question: true, Title: headingOf(q), Prompt: visible.Text(q.Prompt), Run: run, Voter: visible.Inline(v.Key.Name),
		AskedAt: q.CreatedAt.UTC().Format(timeFormat), DetailsSHA256: q.DetailsSHA256.String(), AnswerID: uuid.NewString(),
		Reason: given.value("reason"), MaxReason: perdure.MaxAnswerReason, TakesValue: q.TakesValue(),
	}
	if given != nil {
		page.Problem = visible.Text(given.problem)
	}
	if q.ExpiresAt != nil {
		page.ExpiresAt = q.ExpiresAt.UTC().Format(timeFormat)
	}
	if n := q.QuestionTerms.Votes(); n > 1 {
		page.Needed = fmt.Sprintf("%d of %d votes are given.", len(q.Votes), n)
	}
	if err := v.addDetails(&page); err != nil {
		v.failed(v.w, v.r, err)
		return
	}
	if page.Unshown != "" {
		page.TakesValue = false // nobody answers what the page does not show
	}
	page.addFields(q, given)
	v.render(v.w, status, page)
}

// addDetails adds the details of the question to the page. It sets page.Unshown instead if the
// details are missing or too large, if the worker that stores them is not connected, or if they do
// not have the hash in the question.
func (v *visit) addDetails(page *view) error {
	q := v.Question
	if ref := questions.LargeDetails(q); ref != nil && ref.Length > tooLarge && !q.OnWorker() {
		page.Unshown = tooLargeText(ref.Length)
		return nil
	}
	details, err := v.Engine.Questions.Details(v.r.Context(), q)
	missing := perdure.IsCode(err, perdure.NotFound)
	switch {
	case perdure.IsCode(err, perdure.Unavailable):
		page.Unshown = "What is asked about is on the worker of the run, which is not connected now. Open the link again later; until then the question can only be denied."
	case err != nil && !missing:
		return err
	case missing || perdure.DetailsHash(q.Kind, q.Subject, details) != q.DetailsSHA256:
		page.Unshown = "What is asked about cannot be shown, because it is not what the run has stated. The question can only be denied."
	case len(details) > tooLarge:
		page.Unshown = tooLargeText(int64(len(details)))
	default:
		page.Details = membersOf(q.Subject, details)
	}
	return nil
}

func tooLargeText(size int64) string {
	return fmt.Sprintf("What is asked about has %d bytes, which is too much for this page. Answer it in the web page or with perdure answer; here it can only be denied.", size)
}

// membersOf returns details as texts that people can read: one named text for each member of an
// object, and one text of JSON for any other value.
func membersOf(subject string, details []byte) (all []member) {
	eachMember(details, func(name string, value json.RawMessage) {
		all = append(all, member{visible.Inline(name), visible.Text(textOf(value))})
	})
	if len(all) == 1 && subject == "bash" && all[0].Name == "command" {
		all[0].Name = ""
	}
	if len(all) == 0 && len(details) > 0 {
		all = append(all, member{"", visible.Text(textOf(details))})
	}
	return all
}

// textOf returns a JSON string as its text, and any other value as indented JSON.
func textOf(value json.RawMessage) string {
	var text string
	if json.Unmarshal(value, &text) == nil {
		return text
	}
	var b bytes.Buffer
	if json.Indent(&b, value, "", "  ") != nil {
		return string(value)
	}
	return b.String()
}

// addFields adds the form fields for the value of the answer. If the parameter `given` is not nil,
// the fields contain the values of this submitted form.
func (p *view) addFields(q *perdure.Question, given *form) {
	if !p.TakesValue {
		return
	}
	for _, c := range q.Choices {
		p.Choices = append(p.Choices, choice{
			Value: c.Value, Label: visible.Inline(cmp.Or(c.Label, c.Value)), Description: visible.Text(c.Description),
			Chosen: given.value(wholeField) == c.Value,
		})
	}
	p.Fields = fieldsOf(q.Schema)
	for i := range p.Fields {
		if f := &p.Fields[i]; given != nil && given.values != nil {
			f.Given = given.value(f.ID())
		}
	}
	p.Whole = len(p.Choices) == 0 && len(p.Fields) == 0
	p.WholeIsText, p.Given = typeOf(q.Schema) == "string", given.value(wholeField)
}

// headingOf returns the heading of a question's page.
func headingOf(q *perdure.Question) string {
	subject := visible.Inline(q.Subject)
	switch {
	case q.Kind == perdure.QuestionApproval && subject != "":
		return "May " + subject + " run?"
	case q.Kind == perdure.QuestionApproval:
		return "Approve?"
	case subject != "":
		return subject
	case q.Kind == perdure.QuestionInput:
		return "An answer is needed"
	case q.Kind == perdure.QuestionChoice:
		return "Choose"
	}
	return visible.Inline(string(q.Kind))
}

// taken sends the page that confirms to the person that the vote was stored.
func (v *visit) taken(verdict perdure.Verdict) {
	if v.Question.Status.Final() {
		v.decided(http.StatusOK)
		return
	}
	v.render(v.w, http.StatusOK, view{
		Title:   headingOf(v.Question),
		Message: fmt.Sprintf("Your vote counts: %s. %d of %d votes are given.", verdictText(verdict), len(v.Question.Votes), v.Question.QuestionTerms.Votes()),
	})
}

// decided sends the page that shows how a question ended and who answered it. The page does not
// show the subject or the details of the question.
func (v *visit) decided(status int) {
	q := v.Question
	text := "The question was withdrawn: no answer is needed any more."
	switch {
	case q.Answer != nil && q.Status == perdure.QuestionExpired:
		text = fmt.Sprintf("The question expired: %s.", verdictText(q.Answer.Verdict))
	case q.Answer != nil:
		text = fmt.Sprintf("%s by %s.", verdictText(q.Answer.Verdict), byText(q.Answer.By))
	case q.Status == perdure.QuestionExpired:
		text = "The question expired without an answer."
	}
	if q.DecidedAt != nil {
		text += " " + q.DecidedAt.UTC().Format(timeFormat)
	}
	v.render(v.w, status, view{Title: "This question is decided", Message: text})
}

func verdictText(verdict perdure.Verdict) string {
	switch verdict {
	case perdure.VerdictApprove:
		return "Approved"
	case perdure.VerdictDeny:
		return "Denied"
	case perdure.VerdictAnswer:
	}
	return "Answered"
}

func byText(by string) string {
	if by == perdure.AnsweredByGrant {
		return "a remembered approval"
	}
	return visible.Inline(by)
}

// seconds returns a duration in whole seconds, rounded up, for the header Retry-After.
func seconds(d time.Duration) int { return int((d + time.Second - 1) / time.Second) }
