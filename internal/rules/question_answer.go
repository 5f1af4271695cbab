package rules

import (
	"fmt"
	"slices"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
)

// NewVote is the vote of one voter on a question.
type NewVote struct {
	perdure.Vote
	Question uuid.UUID
	// Role is the voter's role.
	Role perdure.KeyRole
	// DetailsSHA256 is the hash of the details that the voter has seen; nil if the request has no
	// hash.
	DetailsSHA256 *perdure.Hash
	// Misfit, if set, is the error of a value that does not fit the schema or the choices of the
	// question.
	Misfit error
	// Unread, if set, is the error of a failed read of the question's content from the worker of a
	// LOCAL execution. The question can then only be denied.
	Unread error
	// OtherDetails, if set, is the error of a vote on a tool call whose arguments do not match the
	// hash in the vote. The voter has then seen other arguments, and cannot approve the call.
	OtherDetails error
	// Link, if set, is the SHA-256 of the token in the link through which the voter votes.
	Link *perdure.Hash
	// Edit, if set, changes the details of the question.
	Edit *Edit
	// GrantID is the id of the grant, if the vote creates one.
	GrantID  uuid.UUID
	Actor    perdure.Actor // for the audit log
	Handover *Handover     // nil if no open poll can take the execution
}

// VoteReply is the result of the command AnswerQuestion.
type VoteReply struct {
	Question perdure.Question
	// Repeated reports whether an earlier request has stored the vote.
	Repeated bool
}

// AnswerNeeds says which rows the engine must read into the store.State that it passes to AnswerQuestion.
func AnswerNeeds(v NewVote) store.Needs {
	n := store.Needs{Questions: []uuid.UUID{v.Question}, KeyID: v.KeyID, SignalKeys: true, Link: v.Link}
	if v.Remember != nil {
		n.Grants, n.ChangeGrants, n.OpenQuestions = true, true, true
	}
	v.Handover.needs(&n)
	return n
}

// AnswerQuestion stores a vote. If the vote decides the question, and the execution waits for the
// decision, AnswerQuestion wakes the execution. The command's result is a VoteReply.
// Errors: not_found, question_decided, details_changed, already_voted, permission_denied,
// invalid_argument; ErrLinkEnded, if the vote comes through a link that does not work.
func AnswerQuestion(s *store.State, cfg Config, execution uuid.UUID, v NewVote) (*store.Changes, error) {
	q := s.Questions[v.Question]
	if s.Execution == nil || q == nil {
		return nil, perdure.Errorf(perdure.NotFound, "there is no question %s", v.Question)
	}
	if v.repeats(q) {
		return Answer(VoteReply{Question: *q, Repeated: true}), nil
	}
	if err := v.checkLink(s); err != nil {
		return nil, err
	}
	if v.Edit != nil && v.Edit.SHA256 == q.DetailsSHA256 {
		v.Edit = nil // the edit changes nothing
	}
	if err := v.check(s, q); err != nil {
		return nil, err
	}
	d := begin(s)
	d.cfg = cfg
	if v.Edit != nil {
		d.edit(q, &v)
	}
	v.At = s.Now
	q.Votes = append(slices.Clip(q.Votes), v.Vote)
	d.c.Audit = v.audit(s.Now, q)
	if !v.decides(q) {
		d.question(q)
		d.questionEvent(perdure.EventQuestionVoted, q, v.members(q))
		return d.done(VoteReply{Question: *q}), nil
	}
	answer := &perdure.Answer{Verdict: v.Verdict, Value: v.Value, Reason: v.Reason, By: v.Name}
	if d.local() && v.Verdict == perdure.VerdictApprove {
		answer.BareSHA256 = approvedBare(q)
	}
	d.decide(q, perdure.QuestionAnswered, answer)
	members := v.members(q)
	if d.c.Grant = v.grant(s, q); d.c.Grant != nil {
		members["grantId"] = d.c.Grant.ID
	}
	d.questionEvent(perdure.EventQuestionAnswered, q, members)
	if d.wakeFor(append(d.answerOpen(d.c.Grant), q)...) {
		d.handOver(v.Handover, nil)
	}
	return d.done(VoteReply{Question: *q}), nil
}

// wakeFor wakes the execution if it waits for the end of these questions, which are no longer open.
// It reports whether it has woken the execution.
func (d *draft) wakeFor(questions ...*perdure.Question) bool {
	final := map[uuid.UUID]bool{}
	for _, q := range questions {
		final[q.ID] = true
	}
	return d.wake(facts{questions: final}, perdure.WakeQuestion)
}

// decides reports whether this vote decides the question: the vote is a denial, or with it the
// question has enough votes.
func (v NewVote) decides(q *perdure.Question) bool {
	return v.Verdict == perdure.VerdictDeny || len(q.Votes) >= q.QuestionTerms.Votes()
}

func (v NewVote) members(q *perdure.Question) map[string]any {
	members := map[string]any{"verdict": v.Verdict, "by": v.Name, "votes": len(q.Votes), "needed": q.QuestionTerms.Votes()}
	if v.KeyID != nil {
		members["keyId"] = v.KeyID
	}
	if q.Withheld != nil {
		return members // reason and value of a LOCAL execution's question are content
	}
	if v.Reason != "" {
		members["reason"] = v.Reason
	}
	if v.Value != nil && len(v.Value) <= perdure.InlineLimit {
		members["value"] = v.Value
	}
	return members
}

func (v NewVote) audit(now perdure.Time, q *perdure.Question) *perdure.AuditRecord {
	id, name := q.ID, string(v.Verdict)
	if v.Link != nil {
		name += " by link"
	}
	return &perdure.AuditRecord{
		At: now, Actor: v.Actor, Action: perdure.AuditQuestionAnswered, SubjectID: &id, SubjectName: name,
		After: q.DetailsSHA256.String(), Org: q.Org,
	}
}

// check checks the vote. Errors: as for AnswerQuestion.
func (v NewVote) check(s *store.State, q *perdure.Question) error {
	asked := *q
	if v.Edit != nil {
		asked.Votes = nil // an edit removes the votes, so the editor may have voted
	}
	if err := v.checkTerms(&asked, v.voter(s), askersOf(s, q)); err != nil {
		return err
	}
	if v.Edit != nil {
		if err := v.checkEdit(q); err != nil {
			return err
		}
	}
	if v.Remember != nil {
		if err := v.checkRemember(s, q); err != nil {
			return err
		}
	}
	if v.OtherDetails != nil && v.Verdict == perdure.VerdictApprove {
		return v.OtherDetails
	}
	return v.sameValue(q)
}

// Check returns nil if AnswerQuestion would accept the vote now, or has already stored it. The vote
// must have no Edit and no Remember. `askers` is the result of [Askers]. Errors: as for
// AnswerQuestion.
func (v NewVote) Check(q *perdure.Question, voter Voter, askers []uuid.UUID) error {
	if v.repeats(q) {
		return nil
	}
	if err := v.checkTerms(q, voter, askers); err != nil {
		return err
	}
	if v.OtherDetails != nil && v.Verdict == perdure.VerdictApprove {
		return v.OtherDetails
	}
	return v.sameValue(q)
}

// Reads reports whether the server must read the content of the question before it can accept the
// vote.
func (v NewVote) Reads(q *perdure.Question) bool {
	return v.Verdict != perdure.VerdictDeny && q.Status == perdure.QuestionOpen && !v.repeats(q)
}

// repeats reports whether the vote is stored already.
func (v NewVote) repeats(q *perdure.Question) bool {
	return slices.ContainsFunc(q.Votes, func(known perdure.Vote) bool { return known.AnswerID == v.AnswerID && sameVoter(known, v.Vote) })
}

// checkTerms checks that the voter may vote and has seen the current details, and that the question
// accepts the verdict.
func (v NewVote) checkTerms(q *perdure.Question, voter Voter, askers []uuid.UUID) error {
	if err := voter.MayAnswer(q, askers); err != nil {
		return err
	}
	if v.Unread != nil && v.Verdict != perdure.VerdictDeny {
		return v.Unread
	}
	switch {
	case v.DetailsSHA256 == nil && v.Verdict == perdure.VerdictApprove:
		return perdure.FieldErrorf("detailsSha256", "is missing: send the detailsSha256 of what is approved, as the question shows it")
	case v.DetailsSHA256 != nil && *v.DetailsSHA256 != q.DetailsSHA256:
		return perdure.Errorf(perdure.DetailsChanged, "question %s is now about other details; read it again", q.ID)
	}
	return v.checkVerdict(q)
}

// voter returns who sends the vote: an API key, or the token of the data directory.
func (v NewVote) voter(s *store.State) Voter {
	voter := Voter{Role: v.Role, KeyID: v.KeyID, Name: v.Name}
	if s.Key != nil {
		voter.Since = &s.Key.CreatedAt
	}
	return voter
}

func decided(q *perdure.Question) error {
	how := string(q.Status)
	if q.Answer != nil {
		how = fmt.Sprintf("%s (%s by %s)", q.Status, q.Answer.Verdict, q.Answer.By)
	}
	return perdure.Errorf(perdure.QuestionDecided, "question %s is %s already", q.ID, how)
}

// checkVerdict checks that the question accepts the verdict and the value.
func (v NewVote) checkVerdict(q *perdure.Question) error {
	switch {
	case v.Verdict == perdure.VerdictDeny || v.Verdict == perdure.VerdictApprove && !q.TakesValue():
		if v.Value != nil {
			return perdure.FieldErrorf("answer", "stands only beside the verdict answer")
		}
		return nil
	case v.Verdict != perdure.VerdictAnswer && q.TakesValue():
		return perdure.FieldErrorf("verdict", "%q must be answer or deny: this question asks for a value", v.Verdict)
	case !q.TakesValue():
		return perdure.FieldErrorf("verdict", "%q must be approve or deny: this question asks for no value", v.Verdict)
	case v.Value == nil:
		return perdure.FieldErrorf("answer", "is missing")
	}
	return v.Misfit
}

// sameValue checks that the vote has the same value as the earlier votes on the question.
func (v NewVote) sameValue(q *perdure.Question) error {
	if v.Verdict != perdure.VerdictAnswer || len(q.Votes) == 0 || EqualJSON(q.Votes[0].Value, v.Value) {
		return nil
	}
	return perdure.FieldErrorf("answer", "differs from the answer of %s; the votes must agree. Deny, or send the same answer", q.Votes[0].Name)
}

// sameVoter reports whether both votes come from the same API key. The token of the data directory
// counts as one key.
func sameVoter(a, b perdure.Vote) bool { return sameKey(a.KeyID, b.KeyID) }
