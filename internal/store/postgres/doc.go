// Package postgres stores everything in a PostgreSQL database (15 or newer), which any number of
// servers share.
//
// A few committers write, each with its own connection. All commands of an execution go to the same
// committer. A batch of commands is one READ COMMITTED transaction, and its number of round trips
// does not depend on the number of commands. The first statement locks the executions with SKIP
// LOCKED and returns their current rows. Later statements read the other rows of these executions;
// because of the locks, they see what was committed last. Then the commands are decided
// concurrently, and their statements are sent together. If another server has locked the execution
// of a command, the command goes into the next batch. After three such misses, the command runs
// alone and waits for the lock.
//
// A decision may depend on more than the row of its execution; advisory locks protect that data (see
// statement.Conn's Hold). The lock order is: executions, advisory locks, rows below an execution. A
// batch never waits for executions or advisory locks. A command that runs alone waits for its one
// execution first. So transactions can deadlock only by foreign keys. The database then aborts one
// of the transactions, and the committer runs it again.
//
// A lost connection is opened again. If it was lost in the middle of a COMMIT, the committer's own
// row shows whether the transaction is durable.
package postgres
