// Package sqlite stores everything in one SQLite file. One committer writes batches of commands
// through its own connection; a few connections read.
//
// Only one process may have the file open. After an error in a COMMIT, it is unknown whether the
// transaction is durable. The store then stops writing, returns unavailable for each write and calls
// Options.Fatal. The next Open checks the file and recovers what is durable.
package sqlite
