// Package postgrestest runs a PostgreSQL for tests: one cluster for each test
// binary, begun by the first test that asks and stopped at the end, and a
// database of its own for each test.
//
// PERDURE_TEST_POSTGRES names another server to use, as a URL whose user may
// create databases.
package postgrestest
