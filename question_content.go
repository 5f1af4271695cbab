package perdure

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"

	"github.com/google/uuid"
)

// MaxQuestionContent is the maximum size of an encoded QuestionContent in bytes.
const MaxQuestionContent = 2 << 20

// WithheldContent identifies a content of a LOCAL execution. Only the worker stores the content.
type WithheldContent struct {
	SHA256 Hash  `json:"sha256"`
	Bytes  int64 `json:"bytes"`
}

// withheld returns the WithheldContent for a content.
func withheld(content []byte) WithheldContent {
	return WithheldContent{SHA256: sha256.Sum256(content), Bytes: int64(len(content))}
}

// Ref returns the reference to the content in the given execution.
func (w WithheldContent) Ref(execution uuid.UUID) BlobRef {
	return BlobRef{ID: ContentID(execution, w.SHA256), Length: w.Bytes, SHA256: w.SHA256}
}

// WithheldQuestion is what the server stores about a question whose content only the worker stores.
type WithheldQuestion struct {
	// WithheldContent identifies the output of QuestionContent.Encode.
	WithheldContent
	// ValueSHA256 is the hash of the schema and the choices. It is nil if the question is not answered
	// with a value.
	ValueSHA256 *Hash `json:"valueSha256,omitempty"`
	// BareSHA256 is the SHA-256 of the details, without the prefix of DetailsHash. If the question
	// is about a tool call, the input of the permitted task has the same hash.
	BareSHA256 Hash `json:"bareSha256"`
}

// ContentMark takes the place of a content in responses to clients if only the worker of a LOCAL
// execution has the content.
type ContentMark struct {
	// Content is "worker" if the content is left out.
	Content string `json:"content,omitempty" enum:"worker"`
	// ContentBytes and ContentSHA256 are the length and the hash of the content.
	ContentBytes  int64  `json:"contentBytes,omitempty"`
	ContentSHA256 string `json:"contentSha256,omitempty"`
}

// ContentOnWorker is the value of ContentMark.Content for a content that is left out.
const ContentOnWorker = "worker"

// OnWorker reports whether the content is left out.
func (m ContentMark) OnWorker() bool { return m.Content != "" }

// Mark returns the mark that replaces the content.
func (w WithheldContent) Mark() ContentMark {
	return ContentMark{Content: ContentOnWorker, ContentBytes: w.Bytes, ContentSHA256: w.SHA256.String()}
}

// QuestionContent is the part of a question that the worker of a LOCAL execution stores.
type QuestionContent struct {
	Prompt  string
	Schema  json.RawMessage
	Choices []QuestionOption
	Default json.RawMessage
	// Details are at most InlineLimit bytes. Larger details are stored separately: see
	// NewQuestion.DetailsBlob.
	Details json.RawMessage
}

// storedContent is the encoded form of a QuestionContent. JSON documents are encoded as strings, so
// that their bytes do not change. A changed byte in the details would no longer match the stored
// hash of the details.
type storedContent struct {
	Prompt  string           `json:"prompt,omitempty"`
	Schema  string           `json:"schema,omitempty"`
	Choices []QuestionOption `json:"choices,omitempty"`
	Default string           `json:"default,omitempty"`
	Details string           `json:"details,omitempty"`
}

// Encode returns the content as one JSON document. Equal contents have equal encodings.
func (c QuestionContent) Encode() []byte {
	return encodeContent(storedContent{
		Prompt: c.Prompt, Schema: string(c.Schema), Choices: c.Choices, Default: string(c.Default), Details: string(c.Details),
	})
}

// DecodeQuestionContent decodes the output of Encode. Because a worker can send anything, it also
// checks the content, by the rules for questions of REMOTE executions. Errors: internal.
func DecodeQuestionContent(raw []byte) (QuestionContent, error) {
	var s storedContent
	if err := json.Unmarshal(raw, &s); err != nil {
		return QuestionContent{}, undecoded("question", err)
	}
	c := QuestionContent{
		Prompt: s.Prompt, Schema: rawOf(s.Schema), Choices: s.Choices, Default: rawOf(s.Default), Details: rawOf(s.Details),
	}
	if err := c.check(); err != nil {
		return QuestionContent{}, undecoded("question", err)
	}
	return c, nil
}

// check checks the sizes and the form of the content. Errors: invalid_argument.
func (c QuestionContent) check() error {
	if len(c.Prompt) > MaxQuestionPrompt {
		return FieldErrorf("prompt", "has %d bytes, and %d are allowed", len(c.Prompt), MaxQuestionPrompt)
	}
	if err := CheckText("prompt", c.Prompt); err != nil {
		return err
	}
	for _, d := range []struct {
		field string
		raw   json.RawMessage
		most  int
	}{{"schema", c.Schema, MaxQuestionSchema}, {"default", c.Default, MaxAnswer}, {"details", c.Details, InlineLimit}} {
		if d.raw == nil {
			continue
		}
		if len(d.raw) > d.most {
			return FieldErrorf(d.field, "has %d bytes, and %d are allowed", len(d.raw), d.most)
		}
		if err := CheckDocumentBytes(d.field, d.raw, DocumentRules{Workers: true}); err != nil {
			return err
		}
	}
	return checkOptions("choices", c.Choices)
}

func encodeContent(v any) []byte {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err) // unreachable: strings always encode
	}
	return raw
}

func undecoded(what string, err error) error {
	return &Error{Code: Internal, Message: "the stored content of a " + what + " does not decode", Err: err}
}

// rawOf returns a text as raw JSON; nil for "".
func rawOf(text string) json.RawMessage {
	if text == "" {
		return nil
	}
	return json.RawMessage(text)
}

// Withhold splits a question of a LOCAL execution. It returns the question that the server
// receives, with a reference to the content, and the encoded content, which only the worker stores.
// Details over InlineLimit are not part of the content: they remain in the question, and the caller
// replaces them by DetailsBlob.
func (q NewQuestion) Withhold() (NewQuestion, []byte) {
	bare, large := Hash(sha256.Sum256(q.Details)), json.RawMessage(nil)
	if len(q.Details) > InlineLimit {
		q.Details, large = nil, q.Details
	}
	content := QuestionContent{Prompt: q.Prompt, Schema: q.Schema, Choices: q.Choices, Default: q.Default, Details: q.Details}.Encode()
	w := &WithheldQuestion{WithheldContent: withheld(content), ValueSHA256: q.valueHash(), BareSHA256: q.BareSHA256}
	if q.EntryID == nil {
		w.BareSHA256 = bare
	}
	q.Prompt, q.Schema, q.Choices, q.Default, q.Details, q.Withheld = "", nil, nil, nil, large, w
	return q, content
}

// valueHash returns the hash of the schema and the choices; nil if the question is not answered with a
// value.
func (t QuestionTerms) valueHash() *Hash {
	if t.Withheld != nil {
		return t.Withheld.ValueSHA256
	}
	if !t.TakesValue() {
		return nil
	}
	var schema bytes.Buffer
	if t.Schema != nil && json.Compact(&schema, t.Schema) != nil {
		schema.Write(t.Schema) // the schema is not valid JSON; a later check refuses it
	}
	sum := Hash(sha256.Sum256(encodeContent(storedContent{Schema: schema.String(), Choices: t.Choices})))
	return &sum
}

// SameValue reports whether two questions have the same schema and choices. It compares hashes, so
// it also works if the content of a question is only on the worker.
func (t QuestionTerms) SameValue(other QuestionTerms) bool {
	a, b := t.valueHash(), other.valueHash()
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b
}

// Fill copies the content into the fields of q. If q has expired with its default as the answer,
// Fill also copies the default into the answer. Details that a voter has changed are not
// overwritten.
func (c QuestionContent) Fill(q *Question) {
	q.Prompt, q.Schema, q.Choices, q.Default, q.Withheld = c.Prompt, c.Schema, c.Choices, c.Default, nil
	if !q.Edited() {
		q.Details = c.Details
	}
	if q.Status == QuestionExpired && q.Answer != nil && q.Answer.Verdict == VerdictAnswer {
		q.Answer.Value = c.Default
	}
}

// Decision is what people wrote to decide a question of a LOCAL execution. The worker stores it;
// the server stores only its hash.
type Decision struct {
	Value   json.RawMessage
	Reason  string
	Details json.RawMessage // set if a voter has changed the details
}

// storedDecision is the encoded form of a Decision.
type storedDecision struct {
	Value   string `json:"value,omitempty"`
	Reason  string `json:"reason,omitempty"`
	Details string `json:"details,omitempty"`
}

// Encode returns the decision as one JSON document. Equal decisions have equal encodings. It returns
// nil for an empty decision.
func (d Decision) Encode() []byte {
	s := storedDecision{Value: string(d.Value), Reason: d.Reason, Details: string(d.Details)}
	if s == (storedDecision{}) {
		return nil
	}
	return encodeContent(s)
}

// DecodeDecision decodes the output of Decision.Encode. Errors: internal.
func DecodeDecision(raw []byte) (Decision, error) {
	var s storedDecision
	if err := json.Unmarshal(raw, &s); err != nil {
		return Decision{}, undecoded("decision", err)
	}
	return Decision{Value: rawOf(s.Value), Reason: s.Reason, Details: rawOf(s.Details)}, nil
}

// Decision returns what people wrote to decide the question, as far as q contains it. The result is
// empty for an expired question.
func (q *Question) Decision() Decision {
	if q.Answer == nil || q.Status != QuestionAnswered {
		return Decision{}
	}
	return Decision{Value: q.Answer.Value, Reason: q.Answer.Reason, Details: q.Details}
}

// Fill copies the decision into the fields of the answered question q.
func (d Decision) Fill(q *Question) {
	q.Answer.Value, q.Answer.Reason, q.Answer.Withheld = d.Value, d.Reason, nil
	if d.Details != nil {
		q.Details = d.Details
	}
}

// Erase removes from the question what people wrote to decide it; the hashes remain. It reports
// whether it has removed anything. The question must belong to a LOCAL execution.
func (q *Question) Erase() bool {
	erased := false
	if content := q.Decision().Encode(); content != nil {
		w := withheld(content)
		q.Answer.Value, q.Answer.Reason, q.Answer.Withheld = nil, "", &w
		erased = true
	}
	for i := range q.Votes {
		v := &q.Votes[i]
		if content := (Decision{Value: v.Value, Reason: v.Reason}).Encode(); content != nil {
			sum := withheld(content).SHA256
			v.Value, v.Reason, v.ContentSHA256 = nil, "", &sum
			erased = true
		}
	}
	if q.Details != nil {
		q.Details, erased = nil, true
	}
	return erased
}

// StoredDecision tells the server, in a commit, that the worker of a LOCAL execution has stored a
// decision.
type StoredDecision struct {
	Question uuid.UUID
	WithheldContent
}
