package column

// Unindexed returns a column in an expression that no index serves. It is for the second condition on a
// row that is found by its id: PostgreSQL could otherwise read all rows that meet that condition, by an
// index of their own.
func Unindexed(column string) string { return "coalesce(" + column + ", '')" }

// UnindexedNumber is Unindexed for a column of numbers.
func UnindexedNumber(column string) string { return "(" + column + " + 0)" }
