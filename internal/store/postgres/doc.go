// Package postgres keeps everything in a PostgreSQL database (15 or newer),
// which any number of servers share.
//
// A few committers write, each with a connection of its own; an execution's
// commands all go to the same one. A batch of commands is one transaction, READ
// COMMITTED, of a number of round trips that does not depend on the number of
// commands: the executions are locked by the first statement, SKIP LOCKED, which
// gives their rows as they are then; what belongs to them is read by later ones,
// so that it is what was committed last; then the commands are decided side by
// side, what they ask for going over together.
// Commands whose execution another server holds go into the next batch, and
// after three misses run alone and wait for it.
//
// What decisions depend on beyond an execution's row is held by advisory locks
// (see relational.Conn's Hold). The order of locks is: executions, advisory
// locks, rows below an execution. A batch waits for none of the first two; a
// command that runs alone waits for its one execution first, so no two
// transactions wait for each other but by foreign keys, and then the database
// ends one, which runs again.
//
// A connection that is lost is opened again. Where it was lost in the middle of
// a COMMIT, the committer's own row reports whether the transaction is durable.
package postgres
