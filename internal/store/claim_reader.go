package store

import (
	"context"
	"iter"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// ClaimReader reads the data that a worker needs to resume an execution. It also finds out which of
// a worker's parked goroutines can still continue.
type ClaimReader interface {
	// Execution, Checkpoint, Path and ContextPath are described in [ExecutionReader].

	Execution(ctx context.Context, org string, id uuid.UUID) (*perdure.Execution, error)
	Checkpoint(ctx context.Context, execution uuid.UUID, sequence int64) (*perdure.Checkpoint, error)
	Path(ctx context.Context, execution uuid.UUID, leaf uuid.UUID, after *uuid.UUID, newest int, lazy bool) iter.Seq2[perdure.Entry, error]
	ContextPath(ctx context.Context, execution, leaf uuid.UUID, after *uuid.UUID, lazy bool) iter.Seq2[perdure.Entry, error]

	// Tasks returns tasks by id, in the order of ids. If a task does not exist, its element is nil.
	// If lazy is set, inputs and results in blobs are left as references.
	Tasks(ctx context.Context, execution uuid.UUID, ids []uuid.UUID, lazy bool) ([]*perdure.Task, error)
	// QuestionsOf is described in [QuestionReader].
	QuestionsOf(ctx context.Context, execution uuid.UUID, ids []uuid.UUID) ([]*perdure.Question, error)
	// Ended returns at most `limit` heads (see perdure.EndedHead) of ended steps and tasks. Each
	// step and task has a position: the number that the store gave to it when it was created. Only
	// those with a position greater than `after` are included. The page ends before its results and
	// errors exceed about the given number of bytes, but it contains at least one head if there is
	// one. Ended does not set EndedPage.Whole.
	Ended(ctx context.Context, execution uuid.UUID, after int64, limit, bytes int) (perdure.EndedPage, error)
	// EndedBefore returns the position (see Ended) of the newest step or task that was created
	// before the given time; 0 if there is none.
	EndedBefore(ctx context.Context, execution uuid.UUID, moment perdure.Time) (int64, error)

	// PendingSignals returns pending signals with their values, oldest first. A signal must match
	// at least one of the patterns; if there are no patterns, all signals match. The Order of a
	// signal must be greater than `after`. The result has at most `limit` signals, and about 1 MiB.
	PendingSignals(ctx context.Context, execution uuid.UUID, patterns []string, after int64, limit int) ([]perdure.Signal, error)
	// TakenSignals returns the signals that are taken and not consumed, in the order in which they
	// were taken.
	TakenSignals(ctx context.Context, execution uuid.UUID) ([]perdure.Signal, error)

	// Moved returns the executions whose Standing is outdated: they do not exist in the org, have
	// ended, or have a newer commit. It needs one query for any number of executions.
	Moved(ctx context.Context, org string, all []Standing) ([]uuid.UUID, error)

	// Together calls the function `read` with a reader. All reads through this reader see the store
	// at the same moment, and cost as much as one read. The reader is valid only during the call.
	Together(ctx context.Context, read func(ClaimReader) error) error
}

// Standing contains the id of an execution and the newest commit that a worker knows of it. The
// worker wants to continue the execution from that commit.
type Standing struct {
	Execution     uuid.UUID
	Fence, Number int64 // fence and number of that commit
	// Answer is the beginning of the stored reply to the commit. It is ASCII text of at most
	// StandingAnswer bytes.
	Answer string
}

// StandingAnswer is the maximum length of Standing.Answer, in bytes.
const StandingAnswer = 64
