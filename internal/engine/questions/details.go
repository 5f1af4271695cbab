package questions

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/rules"
)

// Details returns the details of a question. The details of a question about a tool call are the
// arguments of the call: the bytes that the model wrote, or those with which a voter replaced them.
// Details returns nil if the question has no details. If the execution is LOCAL, Show must have
// completed the question. Errors: not_found if there is no such call; unavailable if the details
// are on a worker that is not connected.
func (s *Questions) Details(ctx context.Context, q *perdure.Question) ([]byte, error) {
	switch {
	case q.OnWorker() || q.Answer != nil && q.Answer.OnWorker() && q.Edited():
		return nil, detailsAway(q)
	case q.Details != nil:
		return q.Details, nil
	case q.Edited():
		return nil, perdure.Errorf(perdure.NotFound, "the details of question %s were erased, because it was decided without an approval", q.ID)
	case q.DetailsBlob != nil:
		within, cancel := context.WithTimeout(ctx, questionReadWithin)
		defer cancel()
		return s.wholeDetails(within, q)
	case q.EntryID == nil:
		return nil, nil
	}
	entry, err := s.store.Entry(ctx, q.ExecutionID, *q.EntryID)
	if err != nil {
		return nil, err
	}
	if entry.Content == nil && entry.Blob != nil {
		x, err := s.refs.Execution(ctx, q.Org, q.ExecutionID)
		if err != nil {
			return nil, err
		}
		within, cancel := context.WithTimeout(ctx, questionReadWithin)
		defer cancel()
		arguments, err := s.arguments(within, x, q)
		if err != nil && ctx.Err() == nil && (within.Err() != nil || perdure.IsCode(err, perdure.Unavailable)) {
			err = detailsAway(q)
		}
		return arguments, err
	}
	return argumentsIn(entry, q)
}

func detailsAway(q *perdure.Question) error {
	q.Content = perdure.ContentOnWorker
	return perdure.Errorf(perdure.Unavailable, "the details of question %s are on the worker of its run, which is not connected or does not answer", q.ID)
}

// arguments returns the arguments of the tool call that a question of a LOCAL execution names. Errors:
// not_found, unavailable, internal.
func (s *Questions) arguments(ctx context.Context, x *perdure.Execution, q *perdure.Question) ([]byte, error) {
	entry, err := s.store.Entry(ctx, x.ID, *q.EntryID)
	if err == nil && entry.Content == nil && entry.Blob != nil {
		entry.Content, err = s.homes.Whole(ctx, x, *entry.Blob)
	}
	if err != nil {
		return nil, err
	}
	return argumentsIn(entry, q)
}

// argumentsIn returns the arguments of the tool call that the question names. The parameter `entry`
// is the entry with that call. Errors: not_found, internal.
func argumentsIn(entry *perdure.Entry, q *perdure.Question) ([]byte, error) {
	entry.ExtractMetadata()
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

// callArguments returns the arguments of a tool call in the form in which its task gets them.
func callArguments(call perdure.Part) []byte {
	switch {
	case call.RawArguments != "":
		return []byte(call.RawArguments)
	case call.Arguments != nil:
		return call.Arguments
	}
	return []byte("{}")
}

// otherDetails returns an error if the arguments of the tool call that a question names do not have
// the hash `seen`, which the voter has sent. The hash in the question cannot be used for this
// check: a worker stated it, and it may be wrong. Error: details_changed.
func (s *Questions) otherDetails(ctx context.Context, q *perdure.Question, seen *perdure.Hash) error {
	if q.EntryID == nil || q.Details != nil || seen == nil || q.Withheld != nil {
		return nil
	}
	details, err := s.Details(ctx, q)
	if err != nil && !perdure.IsCode(err, perdure.NotFound) {
		return err
	}
	if err == nil && perdure.DetailsHash(q.Kind, q.Subject, details) == *seen {
		return nil
	}
	return perdure.Errorf(perdure.DetailsChanged,
		"question %s names another hash than the arguments of call %s have, so the call cannot be approved; deny it", q.ID, q.CallID)
}

// Voter identifies who may answer questions: an API key, or the token of the data directory.
type Voter = rules.Voter

// Answerable returns the given questions of an org that the voter may answer now.
func (s *Questions) Answerable(ctx context.Context, org string, questions []*perdure.Question, v Voter) ([]*perdure.Question, error) {
	known := map[uuid.UUID][]uuid.UUID{}
	var mine []*perdure.Question
	for _, q := range questions {
		askers := q.Askers
		if q.NotAsker && askers == nil {
			if known[q.ExecutionID] == nil {
				all, err := s.allAskers(ctx, org, q.ExecutionID)
				if err != nil {
					return nil, err
				}
				known[q.ExecutionID] = all
			}
			askers = known[q.ExecutionID]
		}
		if v.MayAnswer(q, askers) == nil {
			mine = append(mine, q)
		}
	}
	return mine, nil
}

// allAskers returns the askers of an execution: the API keys that have started it or sent a signal
// to it. It is for questions with NotAsker that an older server has stored without their askers. If
// the execution has been pruned, the result has only the token of the data directory.
func (s *Questions) allAskers(ctx context.Context, org string, execution uuid.UUID) ([]uuid.UUID, error) {
	x, err := s.refs.Execution(ctx, org, execution)
	if perdure.IsCode(err, perdure.NotFound) {
		return rules.Askers(&perdure.Execution{}, nil), nil
	}
	if err != nil {
		return nil, err
	}
	keys, err := s.store.SignalKeys(ctx, execution)
	if err != nil {
		return nil, err
	}
	return rules.Askers(x, keys), nil
}
