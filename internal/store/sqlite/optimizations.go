package sqlite

// optimizations says which optimizations of the store are turned off: a field that is set turns one
// off. An optimization changes only the cost of an operation, never its results, errors, order or
// durability.
type optimizations struct {
	// batches turns off batches: each command is committed by itself, instead of together with all
	// waiting commands.
	batches bool
	// later turns off deferred writes: writes are executed at once, instead of on a second
	// goroutine ([connection.Later]).
	later bool
	// kept turns off the row cache: commands read the rows on which they decide ([cache.RowCache]).
	kept bool
	// logLayer turns off the layer over the log: SQLite itself writes and syncs the log. Writes are
	// not gathered, the log is not extended ahead, and a sync is an fsync
	// ([connection.Conn.GatherLog], [commitRate]).
	logLayer bool
	// checkpointer turns off the separate connection for checkpoints: the committer checkpoints the
	// log itself ([checkpointer]).
	checkpointer bool
	// texts turns off the text index, which is then neither filled nor searched
	// ([read.TextFiller]).
	texts bool
}

// allOptimizations lists all optimizations, which [Options.Plain] turns off.
var allOptimizations = optimizations{batches: true, later: true, kept: true, logLayer: true, checkpointer: true, texts: true}
