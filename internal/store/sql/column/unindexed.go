package column

// Unindexed wraps a column in an expression, so that no index on the column can be used. It is for
// an additional condition in a query that finds rows by their id. Otherwise PostgreSQL could use an
// index for the additional condition and read all rows that meet it.
func Unindexed(column string) string { return "coalesce(" + column + ", '')" }

// UnindexedNumber is Unindexed for a column of numbers.
func UnindexedNumber(column string) string { return "(" + column + " + 0)" }
