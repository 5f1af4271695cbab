package statement

import (
	"context"

	"github.com/google/uuid"
	"github.com/perdure/perdure/internal/store"
)

// Dialect holds the statements, and parts of statements, that differ between the stores' SQL
// dialects.
type Dialect struct {
	// Due are the statements of the picks by time, by kind. ?1 is the org or "", ?2 the moment in
	// milliseconds, ?3 the maximum number of candidates. They select the execution, and the task or
	// NULL.
	Due map[store.PickKind]*Statement
	// FirstLease and FirstTaskLease are the part of a SELECT of one column after that keyword. They
	// return the earliest end of a lease on an execution, and on a task.
	FirstLease, FirstTaskLease string
	// PendingAgents and PendingAlone select id and ready_at, ordered by ready_at. Their parameters
	// are one (org_id, queue, kind, persistence_mode, home_worker_id), the moment up to which
	// delayed rows are ready, and the limit.
	PendingAgents, PendingAlone *Statement
	// PendingTasks selects execution, id, priority, created_at, concurrency_key and
	// concurrency_limit, ordered by priority and age. Its parameters are one (org_id, queue, kind),
	// the moment up to which delayed rows are ready, and the limit.
	PendingTasks *Statement
	// SkipLocked is the suffix of these statements with which they skip rows that other
	// transactions have locked.
	SkipLocked string
	// TheseExecutions returns a FROM clause that selects the executions x with these ids, and its
	// one parameter.
	TheseExecutions func(ids []uuid.UUID) (from string, arg any, err error)
	// Moved selects the ids that [store.ClaimReader].Moved returns. ?1 is the org; Standings returns the
	// further parameters.
	Moved     *Statement
	Standings func(all []store.Standing) (args []any, err error)
	// AmongIDs returns a FROM item: the rows of a table whose agent_execution_id is ?1 and whose id is
	// in the list ?2, which IDs creates. It looks up each of them, however many rows the execution has.
	AmongIDs func(table, alias string) string
	IDs      func(ids []uuid.UUID) (list any, err error)
	// AmongNumbers returns a FROM item: the rows of a table whose column owner is ?1 and whose number
	// is in the list ?2, which Numbers creates. It looks up each of them, too.
	AmongNumbers func(table, alias, owner string) string
	Numbers      func(numbers []int64) (list any, err error)
	// KindAmong returns a condition on an execution x and its parameter: the kind is one of these.
	KindAmong func(kinds []string) (condition string, arg any)
	// MetadataMember returns a condition on an execution x and its parameters: a top-level member
	// of the metadata has the value, compared as text.
	MetadataMember func(key, value string) (condition string, args []any)
	// QueryMatch returns a condition on an execution x and its parameters. The condition holds if
	// the id, the kind or, unless x is LOCAL, the first store.QueryBytes of the input contain a
	// text. The text is passed in three forms, all in lower case: plain, escaped as JSON, and as
	// part of an id.
	QueryMatch func(plain, escaped, id string) (condition string, args []any)
	// Sets reports whether columns that often change together are written as a set: if one of them
	// changes, all are written. More rows then have the same written columns, so one statement can
	// write them.
	Sets bool
	// RecordsBySeq reports whether there is an index of records by seq.
	RecordsBySeq bool
	// ReusesNumbers reports whether the number of a deleted execution may be reused, and numbers
	// are in commit order.
	ReusesNumbers bool
	// Spoils reports whether the transaction cannot continue after the error, even from a
	// savepoint.
	Spoils func(err error) bool

	// Free returns pages to the file system; nil if that is impossible.
	Free func(ctx context.Context, c Conn, pages int) error
	// Unused implements [store.SweepReader].Unused; nil if the number is unknown.
	Unused func(ctx context.Context, c Conn) (pages, pageSize int64, err error)
	// Size returns the size of the database on disk, in bytes.
	Size func(ctx context.Context, c Conn) (bytes int64, err error)
	// Audit checks that no row refers to a missing row; nil if the database ensures that.
	Audit func(ctx context.Context, c Conn) error
}
