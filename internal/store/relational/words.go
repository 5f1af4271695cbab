package relational

import (
	"context"

	"github.com/google/uuid"
	"github.com/perdure/perdure/internal/store"
)

// Words are the statements, and parts of statements, that each store says in its
// own way.
type Words struct {
	// Due are the picks by time, by kind: ?1 is the org or "", ?2 the moment in
	// milliseconds, ?3 the most candidates. They give execution and task or NULL.
	Due map[store.PickKind]string
	// FirstLease and FirstTaskLease are the rest of a SELECT of one column: the
	// earliest end of a lease on an execution, and on a task.
	FirstLease, FirstTaskLease string
	// PendingAgents and PendingAlone give id and ready_at, in its order, of one
	// (org_id, queue, kind, persistence_mode, home_worker_id), not before a moment,
	// so many at most.
	PendingAgents, PendingAlone string
	// PendingTasks gives execution, id, priority, created_at, concurrency_key and
	// concurrency_limit, in the order of priority and age, of one (org_id, queue,
	// kind), not before a moment, so many at most.
	PendingTasks string
	// SkipLocked is what these end in where they pass over rows that other
	// transactions hold.
	SkipLocked string
	// TheseExecutions is a FROM that gives the executions x of these ids, with its
	// one parameter.
	TheseExecutions func(ids []uuid.UUID) (from string, arg any, err error)
	// Moved gives the ids of [store.Reader].Moved: ?1 is the org, and Standings makes
	// the parameters after it.
	Moved     string
	Standings func(all []store.Standing) (args []any, err error)
	// AmongIDs and AmongNumbers are the rest of a condition on a column: it is one
	// of the list ?2, which IDs and Numbers make.
	AmongIDs, AmongNumbers string
	IDs                    func(ids []uuid.UUID) (list any, err error)
	Numbers                func(numbers []int64) (list any, err error)
	// MetadataMember is a condition on an execution x, with its parameters: a
	// top-level member of its metadata, compared as text.
	MetadataMember func(key, value string) (condition string, args []any)
	// QueryMatch is a condition on an execution x, with its parameters: id, kind
	// or, unless it is LOCAL, the first store.QueryBytes of the input hold a text, given as it is, as JSON escapes it, and as what of an
	// id it may be, all in small ASCII letters.
	QueryMatch func(plain, escaped, id string) (condition string, args []any)
	// Sets says that columns which often change together are written together,
	// changed or not: many rows go with one statement then.
	Sets bool
	// RecordsBySeq says that there is an index of records by seq.
	RecordsBySeq bool
	// ReusesNumbers says that the number of an execution that is deleted may be that
	// of another later, and that numbers are in the order of commits.
	ReusesNumbers bool
	// Spoils reports whether the transaction is beyond going on after an error, even
	// from a savepoint.
	Spoils func(err error) bool

	// Free gives pages back to the file system; nil where none can be.
	Free func(ctx context.Context, c Conn, pages int) error
	// Unused is [store.Reader]'s; nil where none is known.
	Unused func(ctx context.Context, c Conn) (pages, pageSize int64, err error)
	// Size is how many bytes the database takes on disk.
	Size func(ctx context.Context, c Conn) (bytes int64, err error)
	// Audit checks that no row refers to one that is gone; nil where the database
	// sees to it.
	Audit func(ctx context.Context, c Conn) error
}
