// Package rest serves the resources of an org: executions with their parts and contents,
// definitions, keys, sessions, webhooks, retention, the audit log and the catalog. It also serves
// the list of orgs, sign-in and health.
package rest

import (
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/face/operation"
	"github.com/perdure/perdure/internal/health"
	eventlog "github.com/perdure/perdure/internal/log"
)

// Config configures the operations of this package. Log and Health are required.
type Config struct {
	Log *eventlog.Log
	// Health checks whether requests can be served.
	Health health.Check
	// Catalog lists the model providers and tools that are built into the program. /providers and
	// /tools return it.
	Catalog perdure.Catalog
}

// server holds the state that all operations share.
type server struct {
	*operation.API
	Config
	// inspections is a semaphore. It contains one element for each request that has the
	// conversation of a model call in memory; maxInspections limits their number.
	inspections chan struct{}
}

// Register registers the operations of this package.
func Register(a *operation.API, c Config) {
	s := &server{API: a, Config: c, inspections: make(chan struct{}, maxInspections)}
	s.definitionRoutes()
	s.executionRoutes()
	s.partRoutes()
	s.logRoutes()
	s.contentRoutes()
	s.keyRoutes()
	s.sessionRoutes()
	s.orgRoutes()
	s.auditRoutes()
	s.retentionRoutes()
	s.webhookRoutes()
	s.workerRoutes()
	s.bulkRoutes()
	s.catalogRoutes()
	s.accessRoutes()
}
