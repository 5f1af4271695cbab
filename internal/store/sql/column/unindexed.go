package column

// Unindexed wraps a column in an expression, so that no index on the column can be used. It is for
// queries that find a row by its id and have another condition: PostgreSQL could otherwise use an
// index for that condition and read all rows that meet it.
func Unindexed(column string) string { return "coalesce(" + column + ", '')" }

// UnindexedNumber is Unindexed for a column of numbers.
func UnindexedNumber(column string) string { return "(" + column + " + 0)" }
