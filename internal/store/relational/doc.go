// Package relational keeps a store in the tables of a SQL database: what rows
// look like, what a decision loads and how its changes are written, and how
// readers read. The stores that use it bring the connections, the transactions
// and the statements that are said in a way of their own.
package relational
