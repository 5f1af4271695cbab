// Package postgrestest provides PostgreSQL databases for tests. Each test binary has one cluster.
// The first test that needs a database starts the cluster, and the end of the test binary stops it.
// Each test has its own database.
//
// If PERDURE_TEST_POSTGRES is set, it is the URL of a server to use instead of a cluster. The user
// in that URL must be allowed to create databases.
package postgrestest
