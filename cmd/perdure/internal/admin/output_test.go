package admin

import (
	"io"
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/cmd/perdure/internal/setup"
	"github.com/perdure/perdure/cmd/perdure/internal/terminal"
	"github.com/perdure/perdure/cmd/perdure/internal/terminal/terminaltest"
)

// TestPrintedFieldsCannotControlTheTerminal checks that no field that a command of this package prints
// controls the terminal, in text or in JSON.
func TestPrintedFieldsCannotControlTheTerminal(t *testing.T) {
	terminaltest.Check(t, func(out io.Writer, asJSON bool, text string) map[string]func() error {
		a := &setup.App{Streams: terminal.Streams{Stdout: terminal.NewScreen(out), Stderr: terminal.NewScreen(out)}, JSON: asJSON}
		return map[string]func() error{
			"keys":        func() error { return printKeys(a, terminaltest.Filled[[]*perdure.APIKey](text)) },
			"new key":     func() error { k := terminaltest.Filled[client.NewKey](text); return printNewKey(a, &k) },
			"orgs":        func() error { return printOrgs(a, terminaltest.Filled[[]*perdure.Org](text)) },
			"sessions":    func() error { return printSessions(a, terminaltest.Filled[[]*perdure.Session](text)) },
			"definitions": func() error { return printDefinitions(a, terminaltest.Filled[[]*perdure.Definition](text)) },
			"definition": func() error {
				d := terminaltest.Filled[perdure.Definition](text)
				return printDefinition(a, &d, "is new")
			},
			"webhook secret": func() error { w := terminaltest.Filled[client.NewWebhook](text); return printWebhookSecret(a, &w) },
			"webhooks":       func() error { return printWebhooks(a, terminaltest.Filled[[]*perdure.Webhook](text)) },
			"workers":        func() error { return printWorkers(a, terminaltest.Filled[[]*perdure.WorkerInfo](text)) },
			"queues":         func() error { return printQueues(a, terminaltest.Filled[[]*perdure.QueueInfo](text)) },
			"resumed":        func() error { return printResumed(a, text, terminaltest.Filled[[]*perdure.QueueInfo](text)) },
			"deliveries":     func() error { return printDeliveries(a, terminaltest.Filled[[]*perdure.Delivery](text)) },
			"audit":          func() error { return printAudit(a, terminaltest.Filled[[]perdure.AuditRecord](text)) },
			"retention":      func() error { r := terminaltest.Filled[client.Retention](text); return printRetention(a, &r) },
		}
	})
}
