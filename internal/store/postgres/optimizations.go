package postgres

import "github.com/perdure/perdure/internal/store/sql/statement"

// optimizations lists the optimizations of the store that are turned off. An optimization changes
// only the cost of an operation. It changes neither results, errors and their order nor durability.
type optimizations struct {
	// batches: each command is committed by itself, instead of with all that wait.
	batches bool
	// groups: a transaction sends one statement after the other, each for one row, and waits for its
	// result. Otherwise commands are decided side by side ([pipe.Pipe]), their writes are deferred, and
	// equal statements become one for many rows ([pipe.Groups]).
	groups bool
	// earlyReads: a read returns after its transaction has ended. Otherwise the transaction ends in
	// the background.
	earlyReads bool
	// texts: texts are neither indexed nor searched in the index ([read.TextFiller]).
	texts bool
}

// allOptimizations lists all optimizations, which [Options.Plain] turns off.
var allOptimizations = optimizations{batches: true, groups: true, earlyReads: true, texts: true}

// dialectInTurn is the dialect of a store without groups: an update writes only the columns that have
// changed.
var dialectInTurn = func() *statement.Dialect {
	w := *dialect
	w.Sets = false
	return &w
}()
