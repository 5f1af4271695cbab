package store

import (
	"context"
	"iter"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// ClaimReader reads the data that a worker needs to resume an execution, and to keep its suspended
// goroutines.
type ClaimReader interface {
	// Execution, Checkpoint, Path and ContextPath are described in [ExecutionReader].

	Execution(ctx context.Context, org string, id uuid.UUID) (*perdure.Execution, error)
	Checkpoint(ctx context.Context, execution uuid.UUID, sequence int64) (*perdure.Checkpoint, error)
	Path(ctx context.Context, execution uuid.UUID, leaf uuid.UUID, after *uuid.UUID, newest int, lazy bool) iter.Seq2[perdure.Entry, error]
	ContextPath(ctx context.Context, execution, leaf uuid.UUID, after *uuid.UUID, lazy bool) iter.Seq2[perdure.Entry, error]

	// Tasks returns tasks by id, in the order asked; nil for a task that does not exist. With lazy,
	// inputs and results in blobs are left as references.
	Tasks(ctx context.Context, execution uuid.UUID, ids []uuid.UUID, lazy bool) ([]*perdure.Task, error)
	// QuestionsOf is described in [QuestionReader].
	QuestionsOf(ctx context.Context, execution uuid.UUID, ids []uuid.UUID) ([]*perdure.Question, error)
	// Ended returns the heads of ended steps and tasks whose records follow the position after. It
	// returns at most limit heads, with about that many bytes of results and errors, but at least
	// one head if there is any. Whole is not set.
	Ended(ctx context.Context, execution uuid.UUID, after int64, limit, bytes int) (perdure.EndedPage, error)
	// EndedBefore returns the position of the newest step or task that was created
	// before a moment; 0 if there is none.
	EndedBefore(ctx context.Context, execution uuid.UUID, moment perdure.Time) (int64, error)

	// PendingSignals returns pending signals with their values, oldest first. It returns those that
	// match any of the patterns (all without patterns) and whose order is greater than after: at
	// most limit, and at most about 1 MiB.
	PendingSignals(ctx context.Context, execution uuid.UUID, patterns []string, after int64, limit int) ([]perdure.Signal, error)
	// TakenSignals returns the signals that are taken and not consumed, in the order in which they
	// were taken.
	TakenSignals(ctx context.Context, execution uuid.UUID) ([]perdure.Signal, error)

	// Moved returns the executions whose Standing is outdated: those that do not exist in the org,
	// have ended, or have a newer commit. It needs one query for all.
	Moved(ctx context.Context, org string, all []Standing) ([]uuid.UUID, error)

	// Together calls read with a reader whose reads all see the same moment and cost as much as one
	// read. That reader is valid only during the call.
	Together(ctx context.Context, read func(ClaimReader) error) error
}

// Standing is an execution that continues from its newest commit.
type Standing struct {
	Execution     uuid.UUID
	Fence, Number int64 // of that commit
	// Answer is the start of that commit's answer, in ASCII, at most StandingAnswer bytes.
	Answer string
}

// StandingAnswer is the maximum length of Standing.Answer, in bytes.
const StandingAnswer = 64
