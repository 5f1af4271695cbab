package store

import "github.com/perdure/perdure"

// converter is the last commit whose program converts stores from before the first migration.
const converter = "84bcde0"

// TooOld returns the error for a store of a version before the first migration.
func TooOld(has, first int64) error {
	return perdure.Errorf(perdure.Conflict, "the database has version %d, this program converts versions from %d on; "+
		"start the program of commit %s on it once, then this program", has, first, converter)
}
