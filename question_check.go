package perdure

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/google/uuid"
)

// Check returns an error if the question is invalid. It does not check Default against the schema;
// the server does. Errors: invalid_argument, payload_too_large.
func (q NewQuestion) Check(at string) error {
	for _, name := range []struct {
		field, value string
		empty        bool
	}{{"key", q.Key, false}, {"kind", string(q.Kind), false}, {"subject", q.Subject, true}} {
		if err := checkQuestionName(at+"."+name.field, name.value, name.empty); err != nil {
			return err
		}
	}
	if q.Withheld != nil {
		if err := q.checkWithheld(at); err != nil {
			return err
		}
	}
	if len(q.Prompt) > MaxQuestionPrompt {
		return FieldErrorf(at+".prompt", "has %d bytes, and %d are allowed", len(q.Prompt), MaxQuestionPrompt)
	}
	if err := CheckText(at+".prompt", q.Prompt); err != nil {
		return err
	}
	if q.ExpiresAfter < 0 || q.ExpiresAfter > MaxQuestionLife {
		return FieldErrorf(at+".expires", "must be from 0 (never) to %d hours", int(MaxQuestionLife.Hours()))
	}
	if err := q.QuestionTerms.check(at); err != nil {
		return err
	}
	return q.checkDetails(at)
}

func checkQuestionName(at, name string, mayBeEmpty bool) error {
	if name == "" && !mayBeEmpty || len(name) > MaxQuestionName {
		return FieldErrorf(at, "must have 1 to %d characters", MaxQuestionName)
	}
	if strings.Contains(name, "\n") {
		return FieldErrorf(at, "must be one line")
	}
	return CheckText(at, name)
}

// checkDetails checks that the details are valid and that their hash is correct.
func (q NewQuestion) checkDetails(at string) error {
	if (q.EntryID == nil) != (q.CallID == "") {
		return FieldErrorf(at+".entryId", "and callId stand together: both or neither")
	}
	if q.EntryID != nil && q.Details != nil {
		return FieldErrorf(at+".details", "are the arguments of the call that entryId and callId name; leave them out")
	}
	if q.DetailsBlob != nil {
		return q.checkDetailsBlob(at)
	}
	if err := CheckDocumentBytes(at+".details", q.Details, DocumentRules{Workers: true}); q.Details != nil && err != nil {
		return err
	}
	if q.EntryID == nil && q.Withheld == nil && q.DetailsSHA256 != DetailsHash(q.Kind, q.Subject, q.Details) {
		return FieldErrorf(at+".detailsSha256", "is not the hash of kind, subject and details")
	}
	return nil
}

// checkDetailsBlob checks a question whose details are in a blob. The blob must have the hash that the
// question states. That the content of the blob has this hash is checked when the blob is read.
func (q NewQuestion) checkDetailsBlob(at string) error {
	switch {
	case q.EntryID != nil || q.Details != nil:
		return FieldErrorf(at+".detailsBlob", "stands in place of details and of a call; send one of them")
	case q.Withheld != nil && q.DetailsBlob.SHA256 != q.Withheld.BareSHA256:
		return FieldErrorf(at+".detailsBlob", "has another hash than bareSha256 states")
	}
	return nil
}

// checkWithheld checks a question whose content only the worker stores.
func (q NewQuestion) checkWithheld(at string) error {
	if q.Prompt != "" || q.Schema != nil || q.Choices != nil || q.Default != nil || q.Details != nil {
		return FieldErrorf(at+".withheld", "stands in place of the prompt, schema, choices, default and details; send one of both")
	}
	if n := q.Withheld.Bytes; n <= 0 || n > MaxQuestionContent {
		return FieldErrorf(at+".withheld.bytes", "must be from 1 to %d", MaxQuestionContent)
	}
	return nil
}

// withholdsValue reports whether only the worker stores the schema or the choices.
func (t QuestionTerms) withholdsValue() bool { return t.Withheld != nil && t.TakesValue() }

// check checks the fields of the terms.
func (t QuestionTerms) check(at string) error {
	if t.Schema != nil && len(t.Choices) > 0 {
		return FieldErrorf(at+".schema", "stands in place of choices; give one of them")
	}
	switch {
	case t.Kind == QuestionApproval && t.TakesValue():
		return FieldErrorf(at+".kind", "an approval takes neither a schema nor choices")
	case t.Kind == QuestionInput && t.Schema == nil && !t.withholdsValue():
		return FieldErrorf(at+".schema", "is missing: a question of kind input has a schema")
	case t.Kind == QuestionChoice && len(t.Choices) == 0 && !t.withholdsValue():
		return FieldErrorf(at+".choices", "are missing: a question of kind choice has choices")
	}
	if len(t.Schema) > MaxQuestionSchema {
		return FieldErrorf(at+".schema", "has %d bytes, and %d are allowed", len(t.Schema), MaxQuestionSchema)
	}
	if err := t.Edit.check(at); err != nil {
		return err
	}
	if t.Edit != EditNobody && t.TakesValue() {
		return FieldErrorf(at+".edit", "is for questions that are approved, not for ones that ask for a value")
	}
	if t.Needed < 0 || t.Needed > MaxQuestionNeeded {
		return FieldErrorf(at+".needed", "must be from 1 to %d", MaxQuestionNeeded)
	}
	if err := checkOptions(at+".choices", t.Choices); err != nil {
		return err
	}
	if err := CheckVoters(at+".by", t.By); err != nil {
		return err
	}
	return t.checkExpiry(at)
}

func (t QuestionTerms) checkExpiry(at string) error {
	switch t.OnExpiry {
	case "", OnExpiryFail, OnExpiryDeny:
		if t.Default != nil {
			return FieldErrorf(at+".default", "needs onExpiry default")
		}
	case OnExpiryDefault:
		if t.Default == nil && t.Withheld == nil {
			return FieldErrorf(at+".default", "is missing: onExpiry default answers with it")
		}
		if !t.TakesValue() {
			return FieldErrorf(at+".default", "needs a schema or choices")
		}
		if t.Withheld != nil {
			return nil
		}
		if len(t.Default) > InlineLimit {
			return FieldErrorf(at+".default", "has %d bytes, and %d are allowed", len(t.Default), InlineLimit)
		}
		return t.CheckValue(at+".default", t.Default)
	default:
		return FieldErrorf(at+".onExpiry", "%q must be fail, deny or default", t.OnExpiry)
	}
	return nil
}

// CheckValue checks that the value is JSON and, if the question has choices, that it is one of
// them. It does not check the value against the schema. Errors: invalid_argument.
func (t QuestionTerms) CheckValue(at string, value json.RawMessage) error {
	if err := CheckDocumentBytes(at, value, DocumentRules{}); err != nil {
		return err
	}
	if len(t.Choices) == 0 {
		return nil
	}
	var chosen string
	if err := json.Unmarshal(value, &chosen); err == nil {
		for _, c := range t.Choices {
			if c.Value == chosen {
				return nil
			}
		}
	}
	return FieldErrorf(at, "must be one of the choices %s", optionList(t.Choices))
}

// optionList returns the values of the options for an error message, at most ten of them.
func optionList(options []QuestionOption) string {
	var values []string
	for i, o := range options {
		if i == 10 {
			values = append(values, "…")
			break
		}
		quoted, _ := json.Marshal(o.Value)
		values = append(values, string(quoted))
	}
	return strings.Join(values, ", ")
}

func checkOptions(at string, options []QuestionOption) error {
	if len(options) > MaxQuestionChoices {
		return FieldErrorf(at, "are %d, and %d are allowed", len(options), MaxQuestionChoices)
	}
	size, seen := 0, map[string]bool{}
	for _, o := range options {
		if o.Value == "" || seen[o.Value] {
			return FieldErrorf(at, "must have values that differ and are not empty")
		}
		seen[o.Value] = true
		for _, text := range []string{o.Value, o.Label, o.Description} {
			size += len(text)
			if err := CheckText(at, text); err != nil {
				return err
			}
		}
	}
	if size > MaxQuestionSchema {
		return FieldErrorf(at, "have %d bytes, and %d are allowed", size, MaxQuestionSchema)
	}
	return nil
}

// maxVoters is the maximum number of elements of QuestionTerms.By.
const maxVoters = 100

// CheckVoters checks a list of permitted voters, as in QuestionTerms.By. An element is a role, or
// "key:" followed by the id of an API key. Errors: invalid_argument.
func CheckVoters(at string, by []string) error {
	if len(by) > maxVoters {
		return FieldErrorf(at, "has %d elements, and %d are allowed", len(by), maxVoters)
	}
	for _, voter := range by {
		id, isKey := strings.CutPrefix(voter, "key:")
		if isKey {
			if _, err := uuid.Parse(id); err == nil {
				continue
			}
		} else if slices.Contains([]KeyRole{KeyAdmin, KeyClient, KeyApprover}, KeyRole(voter)) {
			continue
		}
		return FieldErrorf(at, "%q is neither admin, client or approver nor key: with the id of a key", voter)
	}
	return nil
}
