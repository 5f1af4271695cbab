package terminal

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/client"
)

// onWorker is shown in place of a text that only the worker of a LOCAL run has.
const onWorker = "(on the worker)"

// QuestionTitle returns a question in one line: its subject, or kind, and its prompt.
func QuestionTitle(q *perdure.Question) string {
	if q.OnWorker() && q.Prompt == "" {
		return questionTitle(string(q.Kind), q.Subject, onWorker)
	}
	return questionTitle(string(q.Kind), q.Subject, q.Prompt)
}

func questionTitle(kind, subject, prompt string) string {
	name := subject
	if name == "" {
		name = kind
	}
	if prompt = strings.Join(strings.Fields(prompt), " "); prompt == "" {
		return name
	}
	return name + ": " + prompt
}

// questionHeading returns one line that says what a question asks.
func questionHeading(kind, subject, prompt string) string {
	if kind != string(perdure.QuestionApproval) || subject == "" {
		return questionTitle(kind, subject, prompt)
	}
	return strings.TrimSpace("May " + subject + " run? " + strings.Join(strings.Fields(prompt), " "))
}

// Heading prints two lines: what a question asks, and the question's id.
func (s *Screen) Heading(q *perdure.Question) error {
	p := newPage(s)
	p.heading(string(q.Kind), q.Subject, q.Prompt, q.ID.String())
	return p.err
}

func (p *page) heading(kind, subject, prompt, id string) {
	p.hanging(StyleWarn, "? "+Clean(Inline(questionHeading(kind, subject, prompt))))
	p.hanging(StyleDim, "  question "+Clean(Inline(id)))
}

// Headed reports whether the newest output of the view is the heading of the question. Callers then
// do not print the heading again. A second call returns false, until the view prints another
// heading.
func (v *TextView) Headed(q *perdure.Question) bool {
	headed := v.headed == q.ID && v.p.current == questionSection
	v.headed = uuid.Nil
	return headed
}

// questionSection is the name of the section of a page that shows a question.
const questionSection = "question"

// QuestionStatus returns the status of a question, and its verdict if it has one.
func QuestionStatus(q *perdure.Question) string {
	text := string(q.Status)
	if q.Answer != nil {
		text += " (" + string(q.Answer.Verdict) + ")"
	}
	return text
}

// QuestionOutcome returns a text about how a question ended: who answered it and what, or why it has no
// answer.
func QuestionOutcome(q *perdure.Question) string {
	if q.Status == perdure.QuestionOpen {
		return fmt.Sprintf("open: %d of %d votes", len(q.Votes), q.QuestionTerms.Votes())
	}
	if q.Answer == nil {
		return string(q.Status)
	}
	reason := q.Answer.Reason
	if q.Answer.OnWorker() {
		reason = "the rest is on the worker"
	}
	return outcome(string(q.Status), string(q.Answer.Verdict), signalValue(q.Answer.Value, 0, q.Answer.OnWorker()), q.Answer.By, reason)
}

// outcome does the work of QuestionOutcome. Its parameters are values of a question, or of the
// event in the log that ends a question.
func outcome(status, verdict, value, by, reason string) string {
	text, known := map[string]string{
		string(perdure.VerdictApprove): "approved", string(perdure.VerdictDeny): "denied", string(perdure.VerdictAnswer): "answered",
	}[verdict]
	if !known {
		text = verdict
	}
	if status != string(perdure.QuestionAnswered) {
		text = status + ": " + text
	}
	if value != "" {
		text += " " + value
	}
	switch by {
	case "", "expiry": // the status says it
	case "token":
		text += " by the data directory's token"
	case "grant":
		text += " by a remembered approval"
	default:
		text += " by " + by
	}
	if reason != "" {
		text += " (" + reason + ")"
	}
	return text
}

// QuestionAnswers returns the possible answers to a question, as arguments of the command perdure answer.
func QuestionAnswers(q *perdure.Question) string {
	if q.OnWorker() {
		return "deny"
	}
	if len(q.Choices) == 0 {
		if q.TakesValue() {
			return "JSON|deny"
		}
		return "approve|deny"
	}
	var values []string
	for _, c := range q.Choices {
		if len(values) == 5 {
			values = append(values, "...")
			break
		}
		values = append(values, c.Value)
	}
	return strings.Join(append(values, "deny"), "|")
}

// Question prints a question of a run, and how it ended.
func (v *TextView) Question(q *perdure.Question) {
	v.p.section(questionSection)
	v.p.hanging(StyleWarn, "? "+Clean(QuestionTitle(q)))
	v.p.hanging(StyleDim, "  "+Clean(Inline(QuestionOutcome(q)))+" · question "+q.ID.String())
}

// question prints an event of the log that is about a question.
func (v *TextView) question(e client.Event) error {
	var d struct {
		ID       string          `json:"questionId"`
		Kind     string          `json:"kind"`
		Subject  string          `json:"subject"`
		Status   string          `json:"status"`
		Prompt   string          `json:"prompt"`
		Verdict  string          `json:"verdict"`
		By       string          `json:"by"`
		Reason   string          `json:"reason"`
		OnExpiry string          `json:"onExpiry"`
		Votes    int             `json:"votes"`
		Needed   int             `json:"needed"`
		Value    json.RawMessage `json:"value"`
	}
	if err := e.Decode(&d); err != nil {
		return err
	}
	title := questionTitle(d.Kind, d.Subject, d.Prompt)
	if id, err := uuid.Parse(d.ID); err == nil && e.Type == perdure.EventQuestionAsked {
		v.agent.names.questions[id] = shortTitle(title)
	} else if asked := v.agent.names.questions[id]; asked != "" && d.Prompt == "" {
		title = asked
	}
	if e.Type == perdure.EventQuestionAsked && v.AsksInPlace && !v.agent.other() {
		return v.p.err
	}
	name := Clean(Inline(title))
	v.headed = uuid.Nil
	v.p.section(questionSection)
	switch e.Type {
	case perdure.EventQuestionAsked:
		v.p.heading(d.Kind, d.Subject, d.Prompt, d.ID)
		v.headed, _ = uuid.Parse(d.ID) // without an id, no question is headed
	case perdure.EventQuestionVoted:
		v.p.hanging(StyleDim, fmt.Sprintf("? %s · %s by %s, %d of %d votes", name, Clean(d.Verdict), Clean(Inline(d.By)), d.Votes, d.Needed))
	case perdure.EventQuestionAnswered, perdure.EventQuestionExpired, perdure.EventQuestionWithdrawn:
		text := d.Status
		if d.Verdict != "" {
			text = outcome(d.Status, d.Verdict, v.answerValue(d.Verdict, d.Value), d.By, d.Reason)
		} else if d.Reason != "" {
			text += " (" + d.Reason + ")"
		}
		v.p.hanging(StyleDim, "? "+name+" · "+Clean(Inline(text)))
	}
	return v.p.err
}

// answerValue returns the value of an answer. The event of the answer lacks the value if the run is LOCAL
// or the value is large.
func (v *TextView) answerValue(verdict string, value json.RawMessage) string {
	switch {
	case verdict != string(perdure.VerdictAnswer):
		return ""
	case v.agent.local:
		return "(its value is on the worker)"
	case value == nil:
		return "(too large to be shown here; perdure show has it)"
	}
	return signalValue(value, 0, false)
}
