// Package relational keeps a store in the tables of a SQL database. It defines the rows, what a
// decision loads, how its changes are written, and how readers read. The stores that use it provide
// the connections, the transactions and the statements in their own SQL dialect.
package relational
