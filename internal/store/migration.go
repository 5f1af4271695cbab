package store

import "github.com/perdure/perdure"

// converter is the last commit of this repository whose program can convert stores that are older
// than the first migration.
const converter = "84bcde0"

// TooOld returns the error for a store that is older than the first migration. The parameter `has`
// is the version of the store; `first` is the number of the first migration.
func TooOld(has, first int64) error {
	return perdure.Errorf(perdure.Conflict, "the database has version %d, this program converts versions from %d on; "+
		"start the program of commit %s on it once, then this program", has, first, converter)
}
