// Package sqlite keeps everything in one SQLite file: one committer writes in
// group commits through a connection of its own, a few connections read.
//
// A process must own the file alone. After an error in a COMMIT the outcome is
// unknown: the store writes no more, answers unavailable and tells
// Options.Fatal; the next Open checks the file and finds what is durable.
package sqlite
