package perdure

import (
	"crypto/sha256"
	"encoding/json"
	"time"

	"github.com/google/uuid"
)

// QuestionKind says what a question asks for. Agents may define kinds of their own.
type QuestionKind string

const (
	// QuestionApproval asks whether a tool call may run.
	QuestionApproval QuestionKind = "approval"
	// QuestionInput asks for a value that fits a schema.
	QuestionInput QuestionKind = "input"
	// QuestionChoice asks people to choose one of several options.
	QuestionChoice QuestionKind = "choice"
	// QuestionBudget asks whether a run may spend more than its budget.
	QuestionBudget QuestionKind = "budget"
)

// QuestionStatus is the state of a question. Every status except open is final.
type QuestionStatus string

const (
	QuestionOpen      QuestionStatus = "open"
	QuestionAnswered  QuestionStatus = "answered"
	QuestionExpired   QuestionStatus = "expired"
	QuestionWithdrawn QuestionStatus = "withdrawn"
)

// Final reports whether the status never changes.
func (s QuestionStatus) Final() bool { return s != QuestionOpen }

// Verdict is the type of a person's decision about a question: approve, deny or answer.
type Verdict string

const (
	// VerdictApprove permits what the question asks for. It is for questions without a schema and
	// without choices.
	VerdictApprove Verdict = "approve"
	// VerdictDeny refuses what the question asks for. It is possible for every question.
	VerdictDeny Verdict = "deny"
	// VerdictAnswer answers a question with a value. It is for questions with a schema or choices.
	VerdictAnswer Verdict = "answer"
)

// OnExpiry says what happens to a question that nobody has answered in time.
type OnExpiry string

const (
	// OnExpiryFail lets the question expire without an answer. It is the default, except for
	// questions of kind approval.
	OnExpiryFail OnExpiry = "fail"
	// OnExpiryDeny denies what the question asks for. It is the default for questions of kind
	// approval.
	OnExpiryDeny OnExpiry = "deny"
	// OnExpiryDefault answers with the question's Default.
	OnExpiryDefault OnExpiry = "default"
)

const (
	// MaxOpenQuestions is the maximum number of open questions of an execution.
	MaxOpenQuestions = 100
	// MaxQuestionPrompt is the maximum length of a question's prompt in bytes.
	MaxQuestionPrompt = 8 << 10
	// MaxQuestionName is the maximum length of a question's key, kind or subject in bytes.
	MaxQuestionName = 400
	// MaxQuestionSchema is the maximum size of a question's schema, and of all its choices together, in
	// bytes.
	MaxQuestionSchema = 64 << 10
	// MaxQuestionChoices is the maximum number of choices of a question.
	MaxQuestionChoices = 100
	// MaxQuestionNeeded is the maximum number of votes that a question can need.
	MaxQuestionNeeded = 10
	// MaxAnswer is the maximum size of an answer's value in bytes.
	MaxAnswer = 256 << 10
	// MaxAnswerReason is the maximum length of the reason in a vote, in bytes.
	MaxAnswerReason = 4 << 10
	// MaxQuestionLife is the maximum time after which a question can expire.
	MaxQuestionLife = 366 * 24 * time.Hour
)

// QuestionTerms are the fields of a question that never change.
type QuestionTerms struct {
	Kind QuestionKind `json:"kind"`
	// Subject names the thing that the question is about; for an approval, it is the tool.
	Subject string `json:"subject,omitempty"`
	// Prompt is the text of the question, for people.
	Prompt string `json:"prompt,omitempty"`
	// Schema is the JSON Schema of the answer. At most one of Schema and Choices is set.
	Schema json.RawMessage `json:"schema,omitempty"`
	// Choices are the possible answers.
	Choices []QuestionOption `json:"choices,omitempty"`
	// Needed is the number of votes that are needed to approve or answer; 0 means 1. A single vote
	// denies.
	Needed int `json:"needed,omitempty"`
	// NotAsker excludes the votes of the API key that started the run. It also excludes the votes
	// of the keys that sent the signals which the current response has taken.
	NotAsker bool `json:"notAsker,omitempty"`
	// By limits who may answer. An element is a role (admin, client or approver), or "key:"
	// followed by the id of an API key. An empty list permits every key with one of these roles.
	By []string `json:"by,omitempty"`
	// Edit says who may change the details of an approval while approving them.
	Edit EditRight `json:"edit,omitempty"`
	// NoGrants means that people are asked every time: no vote on this question can be remembered, and
	// no grant answers it.
	NoGrants bool `json:"noGrants,omitempty"`
	// OnExpiry says what happens when the question expires.
	OnExpiry OnExpiry `json:"onExpiry,omitempty"`
	// Default is the answer that the question gets if it expires and OnExpiry is OnExpiryDefault.
	// Default fits Schema or is one of Choices.
	Default json.RawMessage `json:"default,omitempty"`
	// Withheld, if set, refers to the content of a question of a LOCAL execution. Only the worker
	// stores this content. Then Prompt, Schema, Choices, Default and the question's details are
	// empty here. Responses of the API contain the content or a ContentMark.
	Withheld *WithheldQuestion `json:"withheld,omitempty" hidden:"true"`
}

// QuestionOption is one of the possible answers to a question.
type QuestionOption struct {
	// Value is the answer. No two options of a question have the same value.
	Value string `json:"value"`
	// Label and Description explain the value to people.
	Label       string `json:"label,omitempty"`
	Description string `json:"description,omitempty"`
}

// Question is a decision that a run asks of people. It is durable: it stays open until it is
// answered, expires or is withdrawn, whatever happens to workers and servers.
type Question struct {
	ID          uuid.UUID `json:"id"`
	ExecutionID uuid.UUID `json:"agentExecutionId"`
	// Key is unique in the execution.
	Key string `json:"key"`
	QuestionTerms
	// EntryID and CallID identify a tool call. They are set for an approval whose details are the
	// arguments of that call.
	EntryID *uuid.UUID `json:"entryId,omitempty"`
	CallID  string     `json:"callId,omitempty"`
	// Details is the JSON that the question is about, at most InlineLimit bytes. It is nil if the
	// question has no details, if DetailsBlob is set, or if the details are the arguments of a tool
	// call. Details that a voter has edited are always in this field.
	Details json.RawMessage `json:"details,omitempty"`
	// DetailsBlob refers to the original details of the question, if they are over InlineLimit.
	DetailsBlob *BlobRef `json:"-" wire:"-"`
	// DetailsSHA256 is the hash that DetailsHash returns. A vote that approves must contain it.
	DetailsSHA256 Hash           `json:"detailsSha256"`
	ExpiresAt     *Time          `json:"expiresAt,omitempty"`
	Status        QuestionStatus `json:"status"`
	// Answer is set once people have answered the question, or once it has expired with the
	// decision that OnExpiry determines.
	Answer *Answer `json:"answer,omitempty"`
	// Votes are the votes that count, in the order in which they were cast.
	Votes []Vote `json:"votes,omitempty" wire:"-"`
	// TaskID is the task that may run because the question was approved.
	TaskID *uuid.UUID `json:"taskId,omitempty"`
	// Version counts the changes of the question. It starts at 1.
	Version   int64 `json:"version"`
	CreatedAt Time  `json:"createdAt"`
	DecidedAt *Time `json:"decidedAt,omitempty"`

	// ExecutionTitle is the title of the execution. Only responses of the API contain it.
	ExecutionTitle string `json:"agentExecutionTitle,omitempty" wire:"-"`
	// DetailsBytes is the size of the details if they are left out. Lists of questions leave out
	// details over InlineLimit, and a response with one question leaves out details over
	// ShownLimit. The API returns such details separately.
	DetailsBytes int64 `json:"detailsBytes,omitempty" wire:"-"`
	// ContentMark is set in responses of the API if the worker of a LOCAL execution is not
	// connected, so that the question has no content. Such a question can only be denied.
	ContentMark `wire:"-"`

	Org string `json:"-"`
	// Askers are the API keys that NotAsker excludes; uuid.Nil stands for the token of the data
	// directory. Askers is nil if NotAsker is false, and for questions that older servers have
	// stored.
	Askers []uuid.UUID `json:"-" wire:"-"`
	// Place is the position of the question in the conversation.
	Place Place `json:"-"`
}

// Answer is the decision about a question.
type Answer struct {
	Verdict Verdict `json:"verdict"`
	// Value is the value of the answer if the verdict is VerdictAnswer; nil for other verdicts.
	Value json.RawMessage `json:"value,omitempty"`
	// Reason is the text with which the last voter explained the vote.
	Reason string `json:"reason,omitempty"`
	// By says who decided: the name of the last voter's key, "token", "expiry" or "grant".
	By string `json:"by"`
	// GrantID is the grant that has answered the question, if By is "grant".
	GrantID *uuid.UUID `json:"grantId,omitempty" wire:"-"`
	// Withheld, if set, refers to the Decision in a LOCAL execution. Only the worker stores the
	// Decision. Then Value, Reason and changed details are empty here. Responses of the API contain
	// the decision or a ContentMark.
	Withheld *WithheldContent `json:"withheld,omitempty" hidden:"true"`
	// BareSHA256 is set for an approval in a LOCAL execution, where only the worker stores the
	// details. It is the SHA-256 of the approved details. The input of the permitted task must have
	// the same hash.
	BareSHA256 *Hash `json:"bareSha256,omitempty" wire:"-" hidden:"true"`
	// ContentMark is set in responses of the API if the worker of a LOCAL execution is not
	// connected, so that the answer has no content.
	ContentMark `wire:"-"`
}

// Vote is one person's vote on a question.
type Vote struct {
	// AnswerID is the id of the vote, which the client chooses. A second vote with the same id has
	// no effect.
	AnswerID string `json:"answerId"`
	// KeyID is the API key of the voter; nil for the token of the data directory.
	KeyID   *uuid.UUID      `json:"keyId"`
	Name    string          `json:"name"`
	Verdict Verdict         `json:"verdict"`
	Value   json.RawMessage `json:"value,omitempty"`
	Reason  string          `json:"reason,omitempty"`
	// EditedFrom is set if the voter has changed the details while approving them. It is the hash of
	// the details as they were asked, before the first change.
	EditedFrom *Hash `json:"editedFrom,omitempty"`
	// Remember, if set, requests that the approval also answers later questions.
	Remember *Remember `json:"remember,omitempty"`
	// ContentSHA256 is set in a LOCAL execution after Question.Erase has removed Value and Reason.
	// It is the SHA-256 of the Decision that contains them.
	ContentSHA256 *Hash `json:"contentSha256,omitempty"`
	At            Time  `json:"at"`
}

// NewQuestion is a question that a commit asks. The id of the question is derived from Key. If a
// question with this key is already stored, the NewQuestion must have the kind, subject, schema and
// details of the stored question, and the stored question does not change.
type NewQuestion struct {
	QuestionTerms
	Key     string
	EntryID *uuid.UUID
	CallID  string
	Details json.RawMessage
	// DetailsBlob, if set, refers to details over InlineLimit that were uploaded; Details is then
	// empty. In a LOCAL execution, the worker stores these details separately from the question's
	// other content.
	DetailsBlob *BlobRef
	// DetailsSHA256 is the hash of the details, as DetailsHash returns it.
	DetailsSHA256 Hash
	// BareSHA256 is the SHA-256 of the arguments of the tool call that EntryID and CallID identify.
	// Only Withhold uses it.
	BareSHA256 Hash `wire:"-"`
	// ExpiresAfter is the time from the commit until the question expires; 0 means never.
	ExpiresAfter time.Duration
	Place        Place
}

// QuestionID returns the id of the execution's question with the given key.
func QuestionID(execution uuid.UUID, key string) uuid.UUID {
	return uuid.NewSHA1(execution, []byte("question:"+key))
}

// DetailsHash returns the SHA-256 of kind, LF, subject, LF and the bytes of the details.
func DetailsHash(kind QuestionKind, subject string, details []byte) Hash {
	h := sha256.New()
	h.Write(DetailsPrefix(kind, subject))
	h.Write(details)
	return Hash(h.Sum(nil))
}

// DetailsPrefix returns the bytes that DetailsHash hashes before the details.
func DetailsPrefix(kind QuestionKind, subject string) []byte {
	return []byte(string(kind) + "\n" + subject + "\n")
}

// Votes returns the number of votes that are needed to approve or answer the question; at least 1.
func (t QuestionTerms) Votes() int { return max(t.Needed, 1) }

// TakesValue reports whether the question is answered with a value.
func (t QuestionTerms) TakesValue() bool {
	return t.Schema != nil || len(t.Choices) > 0 || t.Withheld != nil && t.Withheld.ValueSHA256 != nil
}
