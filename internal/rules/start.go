package rules

import (
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
)

// idempotencyTTL is the time for which an idempotency key identifies its request.
const idempotencyTTL = 24 * time.Hour

// NewExecution is an execution to insert. ResponseID must equal Row.ResponseID.
type NewExecution struct {
	ClientRequest
	Row   perdure.Execution
	Epoch uint64 // random
}

// StartNeeds says which rows the engine must read into the store.State that it passes to Start.
func StartNeeds(r NewExecution) store.Needs {
	n := store.Needs{Idempotency: r.IdempotencyKey, Definition: r.Row.DefinitionID, UseOf: r.Row.KeyID}
	r.Conversation.needs(&n)
	return n
}

// Start inserts an execution with its first event. If an earlier request with the idempotency key
// has inserted one, Start inserts nothing. The command's result is the inserted row, or the
// id of the existing execution. Errors: not_found (definition, conversation), conflict,
// rate_limited, idempotency_key_reused.
func Start(s *store.State, r NewExecution) (*store.Changes, error) {
	x := r.Row
	if s.Execution != nil {
		return Answer(x.ID), nil // the store runs a command again if the outcome of its transaction is unknown
	}
	if known := s.Idempotency; known != nil {
		if known.RequestHash != r.RequestHash {
			return nil, KeyReused(r.IdempotencyKey)
		}
		return Answer(known.Execution), nil
	}
	if x.DefinitionID != nil && s.Definition == nil {
		return nil, NoDefinition(*x.DefinitionID)
	}
	if err := roomToRun(s, int64(len(x.Input))); err != nil {
		return nil, err
	}
	x.CreatedAt, x.ReadyAt, x.Askers = s.Now, s.Now, []uuid.UUID{}
	if x.Gate != nil {
		x.NeedsFeatures |= perdure.FeatureQuestions
		if x.PersistenceMode == perdure.Local {
			x.NeedsFeatures |= perdure.FeatureLocalQuestions
		}
	}
	s.Execution, s.Head = &x, store.Head{Epoch: r.Epoch}
	d := begin(s)
	d.event(perdure.EventCreated, perdure.Place{ResponseID: x.ResponseID}, map[string]any{"kind": x.Kind, "status": x.Status})
	d.c.Responses = []store.Response{r.Response.row(d, x.ResponseID, "")}
	if err := r.Conversation.begin(d, &x.ID, r.NextResponse); err != nil {
		return nil, err
	}
	d.hint(Hint{Kind: HintAgents, Org: x.Org, Queue: x.Queue})
	d.observeRun(ObservedStart)
	if s.Definition != nil {
		d.c.Retain = s.Definition.Retention
	}
	if ref := x.InputBlob; ref != nil {
		// The server keeps the input in a blob, which it erases once the execution's worker has a
		// copy.
		d.c.Blob = &store.Blob{ID: ref.ID, Length: ref.Length, Held: ref.Length, SHA256: ref.SHA256, Owned: true}
		d.c.BlobChunk = x.Input
	}
	r.remember(d)
	made := new(perdure.Execution)
	changes := d.done(made)
	*made = *d.x         // another command of the same transaction may change the row
	made.InputBlob = nil // the input is in the row
	return changes, nil
}

// KeyReused returns the error for an idempotency key that another request has used.
func KeyReused(key string) error {
	return perdure.Errorf(perdure.IdempotencyKeyReused, "the Idempotency-Key %q was used with another body within the last 24 hours", key)
}

// NoDefinition returns the error for an agent definition that does not exist.
func NoDefinition(id uuid.UUID) error {
	return perdure.Errorf(perdure.NotFound, "there is no agent definition %s", id)
}
