package engine

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/rules"
)

// QuestionDetails returns the details of a question: its own, or the arguments of the tool call that
// it names, byte by byte as the model wrote them or as a voter has changed them. They are nil if the
// question has none. Errors: not_found if there is no such call.
func (e *Engine) QuestionDetails(ctx context.Context, q *perdure.Question) ([]byte, error) {
	if q.EntryID == nil || q.Details != nil {
		return q.Details, nil
	}
	entry, err := e.Store.Entry(ctx, q.ExecutionID, *q.EntryID)
	if err != nil {
		return nil, err
	}
	entry.Unfold()
	var content perdure.Content
	if err := json.Unmarshal(entry.Content, &content); err != nil {
		return nil, &perdure.Error{Code: perdure.Internal, Message: fmt.Sprintf("entry %s does not decode", entry.ID), Err: err}
	}
	for _, call := range content.ToolCalls() {
		if call.ID == q.CallID {
			return callArguments(call), nil
		}
	}
	return nil, perdure.Errorf(perdure.NotFound, "entry %s has no tool call %q", entry.ID, q.CallID)
}

// callArguments returns the arguments of a tool call as its task gets them.
func callArguments(call perdure.Part) []byte {
	switch {
	case call.RawArguments != "":
		return []byte(call.RawArguments)
	case call.Arguments != nil:
		return call.Arguments
	}
	return []byte("{}")
}

// otherDetails returns nil if the details of a question have the hash that a voter has seen. A
// worker states the hash of a tool call's arguments; people are shown the arguments themselves.
// Error: details_changed.
func (e *Engine) otherDetails(ctx context.Context, q *perdure.Question, seen *perdure.Hash) error {
	if q.EntryID == nil || q.Details != nil || seen == nil {
		return nil
	}
	details, err := e.QuestionDetails(ctx, q)
	if err != nil && !perdure.IsCode(err, perdure.NotFound) {
		return err
	}
	if err == nil && perdure.DetailsHash(q.Kind, q.Subject, details) == *seen {
		return nil
	}
	return perdure.Errorf(perdure.DetailsChanged,
		"question %s names another hash than the arguments of call %s have, so the call cannot be approved; deny it", q.ID, q.CallID)
}

// Voter is a key that may answer questions, or the token of the data directory.
type Voter = rules.Voter

// Answerable returns the given questions of an org that the voter may answer now.
func (e *Engine) Answerable(ctx context.Context, org string, questions []*perdure.Question, v Voter) ([]*perdure.Question, error) {
	known := map[uuid.UUID][]uuid.UUID{}
	var mine []*perdure.Question
	for _, q := range questions {
		if q.NotAsker && known[q.ExecutionID] == nil {
			askers, err := e.askers(ctx, org, q.ExecutionID)
			if err != nil {
				return nil, err
			}
			known[q.ExecutionID] = askers
		}
		if v.MayAnswer(q, known[q.ExecutionID]) == nil {
			mine = append(mine, q)
		}
	}
	return mine, nil
}

// askers returns the keys that are excluded from questions with NotAsker. An execution that has been
// pruned in the meantime excludes only the token.
func (e *Engine) askers(ctx context.Context, org string, execution uuid.UUID) ([]uuid.UUID, error) {
	x, err := e.Read().Lazy().Execution(ctx, org, execution)
	if perdure.IsCode(err, perdure.NotFound) {
		return rules.Askers(&perdure.Execution{}, nil), nil
	}
	if err != nil {
		return nil, err
	}
	keys, err := e.Store.SignalKeys(ctx, execution)
	if err != nil {
		return nil, err
	}
	return rules.Askers(x, keys), nil
}
