package store

import "github.com/perdure/perdure"

// converter is the last commit whose program converts stores from before the first migration.
const converter = "69d1615"

// TooOld returns the error for a store of a version before the first migration.
func TooOld(has, first int64) error {
	return perdure.Errorf(perdure.Conflict, "the database has version %d, this program converts versions from %d on; "+
		"start the program of commit %s on it once, then this program", has, first, converter)
}

// Unfinished returns the error for a store whose conversion to the first migration's version was
// interrupted.
func Unfinished(first int64) error {
	return perdure.Errorf(perdure.Conflict, "the conversion of the database to version %d was interrupted; "+
		"start the program of commit %s on it once, then this program", first, converter)
}
