package sqlite

// optimizations says which optimizations of the store are turned off: a field that is set turns one
// off. An optimization changes only the cost of an operation, never its results, errors, order or
// durability.
type optimizations struct {
	// batches: each command is committed by itself, instead of together with the other waiting
	// commands.
	batches bool
	// later: writes are executed at once, instead of on a second goroutine ([connection.Later]).
	later bool
	// kept: commands read the rows on which they decide, instead of using cached rows
	// ([cache.RowCache]).
	kept bool
	// logLayer: SQLite itself writes and syncs the log. Writes are not gathered, the log is not
	// extended ahead, and a sync is an fsync ([connection.Conn.GatherLog], [commitRate]).
	logLayer bool
	// checkpointer: the committer checkpoints the log itself, instead of another connection
	// ([checkpointer]).
	checkpointer bool
	// texts: the text index is neither filled nor searched ([read.TextFiller]).
	texts bool
}

// allOptimizations lists all optimizations, which [Options.Plain] turns off.
var allOptimizations = optimizations{batches: true, later: true, kept: true, logLayer: true, checkpointer: true, texts: true}
