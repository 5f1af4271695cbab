package perdure

import (
	"crypto/sha256"
	"encoding/json"
	"time"

	"github.com/google/uuid"
)

// QuestionKind is the kind of a question. Agents may use kinds of their own.
type QuestionKind string

const (
	// QuestionApproval asks whether a tool call may run.
	QuestionApproval QuestionKind = "approval"
	// QuestionInput asks for a value that fits a schema.
	QuestionInput QuestionKind = "input"
	// QuestionChoice asks for one of several choices.
	QuestionChoice QuestionKind = "choice"
	// QuestionBudget asks whether a run may spend more.
	QuestionBudget QuestionKind = "budget"
)

// QuestionStatus is the state of a question. Every status but open is final.
type QuestionStatus string

const (
	QuestionOpen      QuestionStatus = "open"
	QuestionAnswered  QuestionStatus = "answered"
	QuestionExpired   QuestionStatus = "expired"
	QuestionWithdrawn QuestionStatus = "withdrawn"
)

// Final reports whether the status never changes.
func (s QuestionStatus) Final() bool { return s != QuestionOpen }

// Verdict is the decision of a person about a question.
type Verdict string

const (
	// VerdictApprove permits what the question asks for. Questions without a schema and without
	// choices take it.
	VerdictApprove Verdict = "approve"
	// VerdictDeny refuses what the question asks for. Every question takes it.
	VerdictDeny Verdict = "deny"
	// VerdictAnswer answers a question that has a schema or choices with a value.
	VerdictAnswer Verdict = "answer"
)

// OnExpiry is the outcome of a question that nobody has answered in time.
type OnExpiry string

const (
	// OnExpiryFail leaves the question without an answer. It is the default.
	OnExpiryFail OnExpiry = "fail"
	// OnExpiryDeny denies. It is the default of approvals.
	OnExpiryDeny OnExpiry = "deny"
	// OnExpiryDefault answers with the default of the question.
	OnExpiryDefault OnExpiry = "default"
)

const (
	// MaxOpenQuestions is the maximum number of open questions of an execution.
	MaxOpenQuestions = 100
	// MaxQuestionPrompt is the maximum length of a prompt in bytes.
	MaxQuestionPrompt = 8 << 10
	// MaxQuestionName is the maximum length of a key, a kind or a subject in bytes.
	MaxQuestionName = 400
	// MaxQuestionSchema is the maximum size of a schema, and of all choices together, in bytes.
	MaxQuestionSchema = 64 << 10
	// MaxQuestionChoices is the maximum number of choices.
	MaxQuestionChoices = 100
	// MaxQuestionNeeded is the maximum number of votes that a question can need.
	MaxQuestionNeeded = 10
	// MaxAnswer is the maximum size of an answer in bytes.
	MaxAnswer = 256 << 10
	// MaxAnswerReason is the maximum length of the reason of a vote in bytes.
	MaxAnswerReason = 4 << 10
	// MaxQuestionLife is the longest time after which a question may expire.
	MaxQuestionLife = 366 * 24 * time.Hour
)

// QuestionTerms are the parts of a question that never change.
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
	// Needed is the number of votes that are needed to approve or answer; 0 means 1. One vote
	// denies.
	Needed int `json:"needed,omitempty"`
	// NotAsker excludes the key that started the run, and the keys of the signals that the current
	// response has taken up.
	NotAsker bool `json:"notAsker,omitempty"`
	// By limits who may answer. Its elements are roles (admin, client, approver) and "key:" with the
	// id of a key. An empty list means every key of these roles.
	By []string `json:"by,omitempty"`
	// Edit is who may change the details of an approval while approving them.
	Edit EditRight `json:"edit,omitempty"`
	// NoGrants means that every such question is asked: no vote can be remembered, and no grant
	// answers it.
	NoGrants bool `json:"noGrants,omitempty"`
	// OnExpiry is the outcome when the question expires.
	OnExpiry OnExpiry `json:"onExpiry,omitempty"`
	// Default is the answer of a question with OnExpiryDefault. It fits the schema or is a choice.
	Default json.RawMessage `json:"default,omitempty"`
	// Withheld, if set, refers to the content of a question of a LOCAL execution, which is on its
	// worker: Prompt, Schema, Choices and Default are then empty, and so are the details. The API shows
	// the content, or ContentMark.
	Withheld *WithheldQuestion `json:"withheld,omitempty" hidden:"true"`
}

// QuestionOption is one of the possible answers to a question.
type QuestionOption struct {
	// Value is the answer. Values are unique in a question.
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
	// EntryID and CallID identify the tool call whose arguments are the details of an approval.
	EntryID *uuid.UUID `json:"entryId,omitempty"`
	CallID  string     `json:"callId,omitempty"`
	// Details is the JSON that the question is about, at most InlineLimit bytes. It is nil if there
	// is none, if DetailsBlob is set, or if the question is about the arguments of a tool call. The
	// details of an edit are always here.
	Details json.RawMessage `json:"details,omitempty"`
	// DetailsBlob refers to the details as they were asked, if they are over InlineLimit.
	DetailsBlob *BlobRef `json:"-" wire:"-"`
	// DetailsSHA256 is the hash that DetailsHash returns. An approval must name it.
	DetailsSHA256 Hash           `json:"detailsSha256"`
	ExpiresAt     *Time          `json:"expiresAt,omitempty"`
	Status        QuestionStatus `json:"status"`
	// Answer is the decision of a question that is answered, or that expired with a decision.
	Answer *Answer `json:"answer,omitempty"`
	// Votes are the votes that count, in the order in which they were given.
	Votes []Vote `json:"votes,omitempty" wire:"-"`
	// TaskID is the task that an approval permitted.
	TaskID *uuid.UUID `json:"taskId,omitempty"`
	// Version counts the changes of the question, from 1.
	Version   int64 `json:"version"`
	CreatedAt Time  `json:"createdAt"`
	DecidedAt *Time `json:"decidedAt,omitempty"`

	// ExecutionTitle is the title of the execution. Only the API shows it.
	ExecutionTitle string `json:"agentExecutionTitle,omitempty" wire:"-"`
	// DetailsBytes is the size of details that are left out: those over InlineLimit in lists, and
	// those over ShownLimit. The API shows them separately.
	DetailsBytes int64 `json:"detailsBytes,omitempty" wire:"-"`
	// ContentMark is set in the API if the worker of a LOCAL execution is not connected, and the
	// question is shown without its content. Such a question can only be denied.
	ContentMark `wire:"-"`

	Org string `json:"-"`
	// Askers are the keys that NotAsker excludes; uuid.Nil is the token of the data directory. They are
	// nil if NotAsker is not set, and for a question that was asked before servers recorded them.
	Askers []uuid.UUID `json:"-" wire:"-"`
	// Place is the position of the question in the conversation.
	Place Place `json:"-"`
}

// Answer is the decision about a question.
type Answer struct {
	Verdict Verdict `json:"verdict"`
	// Value is the value of an answer; nil for other verdicts.
	Value json.RawMessage `json:"value,omitempty"`
	// Reason is the reason that the last voter gave.
	Reason string `json:"reason,omitempty"`
	// By is who decided: the name of the last voter's key, "token", "expiry" or "grant".
	By string `json:"by"`
	// GrantID is the grant that has answered, if By is "grant".
	GrantID *uuid.UUID `json:"grantId,omitempty" wire:"-"`
	// Withheld, if set, refers to the Decision in a LOCAL execution, which is on its worker: Value and
	// Reason are then empty, and so are changed details. The API shows the decision, or ContentMark.
	Withheld *WithheldContent `json:"withheld,omitempty" hidden:"true"`
	// BareSHA256 is set for an approval in a LOCAL execution: the SHA-256 of the bytes of the details
	// that were approved. The input of the task must have it.
	BareSHA256 *Hash `json:"bareSha256,omitempty" wire:"-" hidden:"true"`
	// ContentMark is set in the API as in Question.
	ContentMark `wire:"-"`
}

// Vote is one person's vote on a question.
type Vote struct {
	// AnswerID identifies the vote. A repeat with the same id has no effect.
	AnswerID string `json:"answerId"`
	// KeyID is the voter's key; nil for the token of the data directory.
	KeyID   *uuid.UUID      `json:"keyId"`
	Name    string          `json:"name"`
	Verdict Verdict         `json:"verdict"`
	Value   json.RawMessage `json:"value,omitempty"`
	Reason  string          `json:"reason,omitempty"`
	// EditedFrom is set if the vote approves details that the voter has changed. It is the hash of
	// the details before the change.
	EditedFrom *Hash `json:"editedFrom,omitempty"`
	// Remember, if set, asks that the approval also answers later questions.
	Remember *Remember `json:"remember,omitempty"`
	// ContentSHA256 is set in a LOCAL execution once Value and Reason are erased: the SHA-256 of the
	// Decision that has them.
	ContentSHA256 *Hash `json:"contentSha256,omitempty"`
	At            Time  `json:"at"`
}

// NewQuestion asks a question in a commit. Its id is derived from the key. If a question with the
// key exists, it must have the same kind, subject, schema and details, and remains as it is.
type NewQuestion struct {
	QuestionTerms
	Key     string
	EntryID *uuid.UUID
	CallID  string
	Details json.RawMessage
	// DetailsBlob, if set, stands in place of Details: they are over InlineLimit, and were uploaded. In
	// a LOCAL execution they are on the worker, beside the content of the question.
	DetailsBlob *BlobRef
	// DetailsSHA256 is the hash of the details, as DetailsHash returns it.
	DetailsSHA256 Hash
	// BareSHA256 is the SHA-256 of the arguments of the call that EntryID and CallID name. Only Withhold
	// needs it.
	BareSHA256 Hash `wire:"-"`
	// ExpiresAfter is the time from the commit until the question expires; 0 means never.
	ExpiresAfter time.Duration
	Place        Place
}

// QuestionID returns the id of an execution's question with the key.
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

// Votes returns the number of votes that approve or answer the question; at least 1.
func (t QuestionTerms) Votes() int { return max(t.Needed, 1) }

// TakesValue reports whether the question is answered with a value.
func (t QuestionTerms) TakesValue() bool {
	return t.Schema != nil || len(t.Choices) > 0 || t.Withheld != nil && t.Withheld.ValueSHA256 != nil
}
