package sqlite

// optimizations says which optimizations of the store are turned off. An optimization changes only
// the cost of an operation, never its results, errors, order or durability.
type optimizations struct {
	// batches, if set, commits each command by itself instead of together with all waiting commands.
	batches bool
	// later, if set, executes writes at once instead of on a second goroutine ([connection.Later]).
	later bool
	// kept, if set, makes commands read the rows on which they decide, instead of using cached rows
	// ([cache.RowCache]).
	kept bool
	// logLayer, if set, lets SQLite write and sync the log itself. Its writes are not gathered, the
	// log is not extended ahead, and a sync is an fsync ([connection.Conn.GatherLog], [commitRate]).
	logLayer bool
	// checkpointer, if set, makes the committer checkpoint the log itself, instead of another
	// connection ([checkpointer]).
	checkpointer bool
	// texts, if set, turns the text index off: it is neither filled nor searched
	// ([read.TextFiller]).
	texts bool
}

// allOptimizations lists all optimizations, which [Options.Plain] turns off.
var allOptimizations = optimizations{batches: true, later: true, kept: true, logLayer: true, checkpointer: true, texts: true}
