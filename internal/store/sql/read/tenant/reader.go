// Package tenant reads what belongs to an org and to none of its executions: keys, sessions,
// grants, webhooks.
package tenant

import (
	"github.com/perdure/perdure/internal/store/sql/load/tenant"
	"github.com/perdure/perdure/internal/store/sql/read/base"
	"github.com/perdure/perdure/internal/store/sql/statement"
)

// Tenants reads what belongs to an org and to none of its executions.
type Tenants struct{ *base.Source }

// Statements returns the statements of this package that run often, by name, so that each store can
// check their query plans.
func Statements() map[string]*statement.Statement {
	return map[string]*statement.Statement{
		"key": keyByHash, "keys": keysOfOrg, "session": sessionByCookie, "sessions": sessionsOfOrg, "sessions of a key": sessionsOfKey,
		"expired session": expiredSession, "due webhooks": dueWebhooks, "overdue webhooks": overdueWebhooks, "grants": grantsOfOrg,
		"grants of one run": grantsOfRun, "grants of one definition": grantsOfDefinition, "delivery": deliveryByKey, "deliveries": deliveriesBefore,
		"deliveries by status": deliveriesByStatus, "old deliveries": oldDelivery, "definition by slug": tenant.DefinitionBySlug,
	}
}
