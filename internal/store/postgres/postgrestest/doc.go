// Package postgrestest provides PostgreSQL databases for tests. Each test binary has one cluster,
// which the first test that needs it starts, and which is stopped at the end. Each test has its own
// database.
//
// PERDURE_TEST_POSTGRES is the URL of another server to use. Its user must be allowed to create
// databases.
package postgrestest
