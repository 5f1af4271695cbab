package postgres

import "github.com/perdure/perdure/internal/store/sql/statement"

// optimizations says which optimizations of the store are turned off: a field that is set turns one
// off. An optimization changes only the cost of an operation, never its results, errors, order or
// durability.
type optimizations struct {
	// batches turns off batches: each command is committed by itself, instead of together with all
	// waiting commands.
	batches bool
	// groups turns off groups: a transaction sends its statements one by one, each for one row, and
	// waits for each result. Otherwise commands are decided concurrently ([pipe.Pipe]), their
	// writes are deferred, and equal statements become one statement for many rows ([pipe.Groups]).
	groups bool
	// earlyReads turns off early reads. With early reads, a read returns before its transaction has
	// ended; without them, it returns afterwards.
	earlyReads bool
	// texts turns off the text index, which is then neither filled nor searched
	// ([read.TextFiller]).
	texts bool
}

// allOptimizations lists all optimizations, which [Options.Plain] turns off.
var allOptimizations = optimizations{batches: true, groups: true, earlyReads: true, texts: true}

// dialectInTurn is the dialect of a store with optimizations.groups set: an update writes only the
// columns that have changed.
var dialectInTurn = func() *statement.Dialect {
	w := *dialect
	w.Sets = false
	return &w
}()
