package pbconv

import (
	"github.com/google/uuid"
	"github.com/perdure/perdure"
	perdurev1 "github.com/perdure/perdure/api/perdure/v1"
)

func termsToProto(t perdure.QuestionTerms) *perdurev1.QuestionTerms {
	return &perdurev1.QuestionTerms{
		Kind: string(t.Kind), Subject: t.Subject, Prompt: t.Prompt, Schema: t.Schema, Choices: each(t.Choices, optionToProto),
		Needed: int64(t.Needed), NotAsker: t.NotAsker, By: t.By, Edit: string(t.Edit), NoGrants: t.NoGrants, OnExpiry: string(t.OnExpiry), Default: t.Default,
		Withheld: withheldQuestionToProto(t.Withheld),
	}
}

func (d *decoder) terms(m *perdurev1.QuestionTerms) perdure.QuestionTerms {
	return perdure.QuestionTerms{
		Kind: perdure.QuestionKind(m.GetKind()), Subject: m.GetSubject(), Prompt: m.GetPrompt(), Schema: raw(m.GetSchema()),
		Choices: each(m.GetChoices(), optionFromProto), Needed: int(m.GetNeeded()), NotAsker: m.GetNotAsker(), By: m.GetBy(),
		Edit: perdure.EditRight(m.GetEdit()), NoGrants: m.GetNoGrants(),
		OnExpiry: perdure.OnExpiry(m.GetOnExpiry()), Default: raw(m.GetDefault()), Withheld: d.withheldQuestion(m.GetWithheld()),
	}
}

func withheldContentToProto(w *perdure.WithheldContent) *perdurev1.WithheldContent {
	if w == nil {
		return nil
	}
	return &perdurev1.WithheldContent{Sha256: hashToProto(w.SHA256), Bytes: w.Bytes}
}

func (d *decoder) withheldContent(m *perdurev1.WithheldContent) *perdure.WithheldContent {
	if m == nil {
		return nil
	}
	return &perdure.WithheldContent{SHA256: d.hash("withheld.sha256", m.GetSha256()), Bytes: m.GetBytes()}
}

func withheldQuestionToProto(w *perdure.WithheldQuestion) *perdurev1.WithheldQuestion {
	if w == nil {
		return nil
	}
	m := &perdurev1.WithheldQuestion{Content: withheldContentToProto(&w.WithheldContent), BareSha256: hashToProto(w.BareSHA256)}
	if w.ValueSHA256 != nil {
		m.ValueSha256 = hashToProto(*w.ValueSHA256)
	}
	return m
}

func (d *decoder) withheldQuestion(m *perdurev1.WithheldQuestion) *perdure.WithheldQuestion {
	if m == nil {
		return nil
	}
	w := &perdure.WithheldQuestion{BareSHA256: d.hash("withheld.bare_sha256", m.GetBareSha256())}
	if content := d.withheldContent(m.GetContent()); content != nil {
		w.WithheldContent = *content
	}
	if m.ValueSha256 != nil {
		sum := d.hash("withheld.value_sha256", m.GetValueSha256())
		w.ValueSHA256 = &sum
	}
	return w
}

func storedDecisionToProto(s perdure.StoredDecision) *perdurev1.StoredDecision {
	return &perdurev1.StoredDecision{QuestionId: UUIDToProto(s.Question), Content: withheldContentToProto(&s.WithheldContent)}
}

func (d *decoder) storedDecision(m *perdurev1.StoredDecision) perdure.StoredDecision {
	s := perdure.StoredDecision{Question: d.id("decisions.question_id", m.GetQuestionId())}
	if content := d.withheldContent(m.GetContent()); content != nil {
		s.WithheldContent = *content
	}
	return s
}

func optionToProto(o perdure.QuestionOption) *perdurev1.QuestionOption {
	return &perdurev1.QuestionOption{Value: o.Value, Label: o.Label, Description: o.Description}
}

func optionFromProto(m *perdurev1.QuestionOption) perdure.QuestionOption {
	return perdure.QuestionOption{Value: m.GetValue(), Label: m.GetLabel(), Description: m.GetDescription()}
}

func newQuestionToProto(q perdure.NewQuestion) *perdurev1.NewQuestion {
	return &perdurev1.NewQuestion{
		Terms: termsToProto(q.QuestionTerms), Key: q.Key, EntryId: idPtrToProto(q.EntryID), CallId: q.CallID, Details: q.Details,
		DetailsSha256: hashToProto(q.DetailsSHA256), ExpiresAfter: durationToProto(q.ExpiresAfter), Place: placeToProto(q.Place),
		DetailsBlob: BlobToProto(q.DetailsBlob),
	}
}

func (d *decoder) newQuestion(m *perdurev1.NewQuestion) perdure.NewQuestion {
	return perdure.NewQuestion{
		QuestionTerms: d.terms(m.GetTerms()), Key: m.GetKey(), EntryID: d.idPtr("questions.entry_id", m.EntryId),
		CallID: m.GetCallId(), Details: raw(m.GetDetails()), DetailsSHA256: d.hash("questions.details_sha256", m.GetDetailsSha256()),
		ExpiresAfter: d.duration("questions.expires_after", m.GetExpiresAfter()), Place: PlaceFromProto(m.GetPlace()),
		DetailsBlob: d.blob("questions.details_blob", m.GetDetailsBlob()),
	}
}

// QuestionToProto converts a question to its message, without the votes, because workers do not need
// them. Nil becomes a message without an id.
func QuestionToProto(q *perdure.Question) *perdurev1.Question {
	if q == nil {
		return &perdurev1.Question{}
	}
	return &perdurev1.Question{
		Id: UUIDToProto(q.ID), AgentExecutionId: UUIDToProto(q.ExecutionID), Key: q.Key, Terms: termsToProto(q.QuestionTerms),
		EntryId: idPtrToProto(q.EntryID), CallId: q.CallID, Details: q.Details, DetailsSha256: hashToProto(q.DetailsSHA256),
		ExpiresAt: timePtrToProto(q.ExpiresAt), Status: string(q.Status), Answer: answerToProto(q.Answer), TaskId: idPtrToProto(q.TaskID),
		Version: q.Version, CreatedAt: timeToProto(q.CreatedAt), DecidedAt: timePtrToProto(q.DecidedAt), Org: q.Org, Place: placeToProto(q.Place),
	}
}

// QuestionFromProto converts a question from its message. A message without an id becomes nil.
// Errors: invalid_argument.
func QuestionFromProto(m *perdurev1.Question) (*perdure.Question, error) {
	return decode(m, (*decoder).question)
}

func (d *decoder) question(m *perdurev1.Question) *perdure.Question {
	id := d.id("question.id", m.GetId())
	if id == uuid.Nil {
		return nil
	}
	return &perdure.Question{
		ID: id, ExecutionID: d.id("question.agent_execution_id", m.GetAgentExecutionId()), Key: m.GetKey(),
		QuestionTerms: d.terms(m.GetTerms()), EntryID: d.idPtr("question.entry_id", m.EntryId), CallID: m.GetCallId(),
		Details: raw(m.GetDetails()), DetailsSHA256: d.hash("question.details_sha256", m.GetDetailsSha256()),
		ExpiresAt: d.timePtr("question.expires_at", m.GetExpiresAt()), Status: perdure.QuestionStatus(m.GetStatus()),
		Answer: d.answer(m.GetAnswer()), TaskID: d.idPtr("question.task_id", m.TaskId), Version: m.GetVersion(),
		CreatedAt: d.time("question.created_at", m.GetCreatedAt()), DecidedAt: d.timePtr("question.decided_at", m.GetDecidedAt()),
		Org: m.GetOrg(), Place: PlaceFromProto(m.GetPlace()),
	}
}

func answerToProto(a *perdure.Answer) *perdurev1.Answer {
	if a == nil {
		return nil
	}
	return &perdurev1.Answer{Verdict: string(a.Verdict), Value: a.Value, Reason: a.Reason, By: a.By, Withheld: withheldContentToProto(a.Withheld)}
}

func (d *decoder) answer(m *perdurev1.Answer) *perdure.Answer {
	if m == nil {
		return nil
	}
	return &perdure.Answer{
		Verdict: perdure.Verdict(m.GetVerdict()), Value: raw(m.Value), Reason: m.GetReason(), By: m.GetBy(), Withheld: d.withheldContent(m.GetWithheld()),
	}
}

func clearanceToProto(c *perdure.Clearance) *perdurev1.Clearance {
	if c == nil {
		return nil
	}
	return &perdurev1.Clearance{Rule: intPtrToProto(c.Rule), QuestionId: idPtrToProto(c.Question)}
}

func (d *decoder) clearance(m *perdurev1.Clearance) *perdure.Clearance {
	if m == nil {
		return nil
	}
	return &perdure.Clearance{Rule: intPtr(m.Rule), Question: d.idPtr("tasks.clearance.question_id", m.QuestionId)}
}

// QuestionsRequestToProto converts a request for questions of an execution to its message.
func QuestionsRequestToProto(execution uuid.UUID, ids []uuid.UUID) *perdurev1.GetQuestionsRequest {
	return &perdurev1.GetQuestionsRequest{ExecutionId: UUIDToProto(execution), QuestionIds: each(ids, UUIDToProto)}
}

// QuestionsRequestFromProto converts a request for questions from its message. Errors:
// invalid_argument.
func QuestionsRequestFromProto(m *perdurev1.GetQuestionsRequest) (execution uuid.UUID, ids []uuid.UUID, err error) {
	var d decoder
	execution, ids = d.id("execution_id", m.GetExecutionId()), d.ids("question_ids", m.GetQuestionIds())
	return execution, ids, d.err
}
