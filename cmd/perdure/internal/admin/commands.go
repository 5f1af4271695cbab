// Package admin has the commands that manage all stored data except runs: definitions, orgs, keys,
// sessions, webhooks, the audit log, retention, and the store itself.
package admin

import (
	"github.com/perdure/perdure/cmd/perdure/internal/setup"
	"github.com/spf13/cobra"
)

// Commands returns the commands that manage all stored data except runs.
func Commands(a *setup.App) []*cobra.Command {
	return []*cobra.Command{
		newDefinitionsCommand(a), newOrgsCommand(a), newKeysCommand(a), newSessionsCommand(a), newAuditCommand(a), newRetentionCommand(a), newWebhooksCommand(a), newStoreCommand(a),
		newWorkersCommand(a), newQueuesCommand(a), newTopCommand(a),
	}
}
