package sqlite

// optimizations lists the optimizations of the store that are turned off. An optimization changes only
// the cost of an operation. It changes neither results, errors and their order nor durability.
type optimizations struct {
	// batches: each command is committed by itself, instead of with all that wait.
	batches bool
	// later: writes are executed at once, and not by a second goroutine ([connection.Later]).
	later bool
	// kept: commands read the rows that they decide on, which are not cached ([cache.RowCache]).
	kept bool
	// logLayer: SQLite writes and syncs the log itself. Its writes are not gathered, the log is not
	// extended ahead, and a sync is an fsync ([connection.Conn.GatherLog], [commitRate]).
	logLayer bool
	// checkpointer: the committer checkpoints the log itself, and not another connection ([checkpointer]).
	checkpointer bool
	// texts: texts are neither indexed nor searched in the index ([read.TextFiller]).
	texts bool
}

// allOptimizations lists all optimizations, which [Options.Plain] turns off.
var allOptimizations = optimizations{batches: true, later: true, kept: true, logLayer: true, checkpointer: true, texts: true}
