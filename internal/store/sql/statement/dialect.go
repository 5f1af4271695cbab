package statement

import (
	"context"

	"github.com/google/uuid"
	"github.com/perdure/perdure/internal/store"
)

// Dialect contains the statements, and parts of statements, that differ between the SQL dialects of
// the stores.
type Dialect struct {
	// Due contains the statements that find the candidates of a [store.Pick], by Pick.Kind. It has
	// none for PickAgents and PickTasks. ?1 is an org, or "" for all orgs; ?2 is the current time
	// in milliseconds, and ?3 the maximum number of candidates. Each row of a result contains the
	// id of an execution, and the id of a task or NULL.
	Due map[store.PickKind]*Statement
	// FirstLease and FirstTaskLease continue the text of a SELECT after the keyword SELECT. They
	// select one column: the earliest end of a lease on an execution, or on a task.
	FirstLease, FirstTaskLease string
	// PendingAgents and PendingAlone select id and ready_at of pending executions, ordered by
	// ready_at. Their parameters are org_id, queue, kind, the features that the worker lacks,
	// persistence_mode, home_worker_id, the current time, and the limit.
	PendingAgents, PendingAlone *Statement
	// PendingTasks selects execution, id, priority, created_at, concurrency_key and
	// concurrency_limit of pending tasks, ordered by priority and age. Its parameters are org_id,
	// queue, kind, the features that the worker lacks, the current time, and the limit.
	PendingTasks *Statement
	// SkipLocked is the last clause of the statements that find the candidates of a [store.Pick].
	// It makes them skip rows that other transactions have locked.
	SkipLocked string
	// TheseExecutions returns a FROM clause for the executions with these ids, whose alias is x.
	// The result `arg` is the value of the clause's only parameter.
	TheseExecutions func(ids []uuid.UUID) (from string, arg any, err error)
	// Moved selects the ids that the method Moved of [store.ClaimReader] returns. ?1 is the org;
	// Standings returns the arguments for the other parameters.
	Moved     *Statement
	Standings func(all []store.Standing) (args []any, err error)
	// AmongIDs returns a FROM item with the rows of a table whose agent_execution_id is ?1 and
	// whose id is in the list ?2, an argument that the function IDs creates. Each row is looked up
	// by its key, so the cost does not depend on how many rows the execution has.
	AmongIDs func(table, alias string) string
	IDs      func(ids []uuid.UUID) (list any, err error)
	// AmongNumbers returns a FROM item with the rows of a table whose column `owner` is ?1 and
	// whose number is in the list ?2, an argument that the function Numbers creates. Each row is
	// looked up by its key.
	AmongNumbers func(table, alias, owner string) string
	Numbers      func(numbers []int64) (list any, err error)
	// KindAmong returns the condition that the kind of the execution x is one of these kinds, and
	// the condition's argument.
	KindAmong func(kinds []string) (condition string, arg any)
	// MetadataMember returns the condition that the metadata of the execution x has a top-level
	// member with that key and that value, compared as text. It also returns the condition's
	// arguments.
	MetadataMember func(key, value string) (condition string, args []any)
	// QueryMatch returns the condition that the id, the kind or the start of the input of the
	// execution x contains a text, and the condition's arguments. The start of the input is its
	// first store.QueryBytes; the input of a LOCAL execution is not searched. The parameters are
	// the text in lower case in three forms: plain, escaped as JSON, and as part of an id.
	QueryMatch func(plain, escaped, id string) (condition string, args []any)
	// Sets reports whether updates use row.Table.Sets: if one column of a set changes, all columns
	// of the set are written. More rows then have the same written columns and can be written with
	// one statement.
	Sets bool
	// RecordsBySeq reports whether the database has an index of records by seq.
	RecordsBySeq bool
	// ReusesNumbers reports that the number of a deleted execution may be reused, and that
	// executions are committed in the order of their numbers.
	ReusesNumbers bool
	// Spoils reports whether a transaction cannot continue after the error err, even after a
	// rollback to a savepoint.
	Spoils func(err error) bool

	// Free returns unused pages to the file system, at most the given number. It is nil if the
	// database cannot do that.
	Free func(ctx context.Context, c Conn, pages int) error
	// Unused implements [store.SweepReader].Unused. It is nil if the database cannot report its
	// number of unused pages.
	Unused func(ctx context.Context, c Conn) (pages, pageSize int64, err error)
	// Size returns the size of the database on disk, in bytes.
	Size func(ctx context.Context, c Conn) (bytes int64, err error)
	// Audit checks that no row refers to a missing row. It is nil if the database ensures that.
	Audit func(ctx context.Context, c Conn) error
}
