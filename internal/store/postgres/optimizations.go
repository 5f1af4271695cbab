package postgres

import "github.com/perdure/perdure/internal/store/sql/statement"

// optimizations says which optimizations of the store are turned off. An optimization changes only
// the cost of an operation, never its results, errors, order or durability.
type optimizations struct {
	// batches, if set, commits each command by itself instead of together with all waiting commands.
	batches bool
	// groups, if set, makes a transaction send its statements one by one, each for one row, and
	// wait for each result. Otherwise commands are decided side by side ([pipe.Pipe]), their writes
	// are deferred, and equal statements become one for many rows ([pipe.Groups]).
	groups bool
	// earlyReads, if set, makes a read return only after its transaction has ended. Otherwise the
	// transaction ends in the background.
	earlyReads bool
	// texts, if set, turns the text index off: it is neither filled nor searched
	// ([read.TextFiller]).
	texts bool
}

// allOptimizations lists all optimizations, which [Options.Plain] turns off.
var allOptimizations = optimizations{batches: true, groups: true, earlyReads: true, texts: true}

// dialectInTurn is the dialect of a store in which the optimization "groups" is turned off: an
// update writes only the columns that have changed.
var dialectInTurn = func() *statement.Dialect {
	w := *dialect
	w.Sets = false
	return &w
}()
