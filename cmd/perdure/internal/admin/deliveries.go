package admin

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/cmd/perdure/internal/connection"
	"github.com/perdure/perdure/cmd/perdure/internal/setup"
	"github.com/perdure/perdure/cmd/perdure/internal/terminal"
	"github.com/spf13/cobra"
)

func newDeliveriesCommand(a *setup.App) *cobra.Command {
	var (
		status string
		limit  int
	)
	var statuses []string
	for _, s := range perdure.DeliveryStatuses() {
		statuses = append(statuses, string(s))
	}
	cmd := &cobra.Command{
		Use: "deliveries ID", Short: "List what was sent to a webhook, newest first",
		Long: `Lists the events for a webhook with the answer of the endpoint. pending waits for an
attempt, delivered was accepted, dead is not sent again by itself; "perdure webhooks
resend" sends it. Deliveries are kept for 7 days. --json shows the answers' texts.`,
		Example: "  perdure webhooks deliveries ID\n  perdure webhooks deliveries ID --status dead",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := webhookID(args[0])
			if err != nil {
				return err
			}
			if status != "" && !slices.Contains(statuses, status) {
				return setup.NewUsageError(fmt.Sprintf("--status %q is unknown", status), "it is pending, delivered or dead")
			}
			return connection.Read(cmd.Context(), a, func(conn *connection.Conn) error {
				all := []*perdure.Delivery{}
				for d, err := range conn.Deliveries(cmd.Context(), id, perdure.DeliveryStatus(status)) {
					if err != nil {
						return err
					}
					if all = append(all, d); len(all) == limit {
						break
					}
				}
				return printDeliveries(a, all)
			})
		},
	}
	cmd.Flags().StringVar(&status, "status", "", "only those with this status: pending, delivered or dead")
	setup.CountFlag(cmd.Flags(), &limit, "limit", "", 50, 1, setup.Unbounded, "how many at most")
	_ = cmd.RegisterFlagCompletionFunc("status", cobra.FixedCompletions(statuses, cobra.ShellCompDirectiveNoFileComp))
	a.JSONFlag(cmd)
	return cmd
}

func printDeliveries(a *setup.App, all []*perdure.Delivery) error {
	if a.JSON {
		return a.Stdout.PrintJSON(client.Page[*perdure.Delivery]{Items: all})
	}
	if len(all) == 0 {
		_, err := fmt.Fprintln(a.Stdout, "no deliveries")
		return err
	}
	t := terminal.Table{Columns: []terminal.Column{
		{Head: "ID"},
		{Head: "STATUS", Style: deliveryStyle},
		{Head: "MADE", Omit: 2},
		{Head: "ATTEMPTS", Omit: 1},
		{Head: "NEXT", Omit: 3},
		{Head: "EVENT"},
		{Head: "ANSWER", Cut: true},
	}}
	for _, d := range all {
		next := "-"
		if d.NextAttemptAt != nil {
			next = d.NextAttemptAt.Local().Format(terminal.TimeFormat)
		}
		t.Add(d.ID.String(), string(d.Status), d.CreatedAt.Local().Format(terminal.TimeFormat), strconv.Itoa(d.Attempts), next, string(d.EventType), deliveryAnswer(d))
	}
	return t.Print(a.Stdout)
}

func deliveryStyle(cell string) terminal.Style {
	if cell == string(perdure.DeliveryDead) {
		return terminal.StyleWarn
	}
	return terminal.StyleNone
}

// deliveryAnswer describes the endpoint's HTTP response to a delivery, or the error if there was no
// response.
func deliveryAnswer(d *perdure.Delivery) string {
	switch {
	case d.Error != "" && d.ResponseStatus != 0:
		return strconv.Itoa(d.ResponseStatus) + ": " + d.Error
	case d.Error != "":
		return d.Error
	case d.ResponseStatus != 0:
		return strconv.Itoa(d.ResponseStatus)
	}
	return "-"
}

func newResendCommand(a *setup.App) *cobra.Command {
	cmd := &cobra.Command{
		Use: "resend ID DELIVERY", Short: "Send a delivery again, with all its attempts", Args: cobra.ExactArgs(2),
		Example: "  perdure webhooks resend 0199d7e2-... 0199d7e5-...",
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := webhookID(args[0])
			if err != nil {
				return err
			}
			delivery, err := uuid.Parse(args[1])
			if err != nil {
				return setup.NewUsageError(args[1]+" is no id of a delivery", "perdure webhooks deliveries "+args[0]+" shows them")
			}
			return connection.Request(cmd.Context(), a, func(conn *connection.Conn) error {
				d, err := conn.ResendDelivery(cmd.Context(), id, delivery)
				if err != nil {
					return err
				}
				return waitForDelivery(cmd, a, conn, d)
			})
		},
	}
	a.JSONFlag(cmd)
	return cmd
}

func newWebhooksTestCommand(a *setup.App) *cobra.Command {
	cmd := &cobra.Command{
		Use: "test ID", Short: "Send an event webhook.test and print the answer", Args: cobra.ExactArgs(1),
		Example: "  perdure webhooks test 0199d7e2-...",
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := webhookID(args[0])
			if err != nil {
				return err
			}
			return connection.Request(cmd.Context(), a, func(conn *connection.Conn) error {
				d, err := conn.TestWebhook(cmd.Context(), id)
				if err != nil {
					return err
				}
				return waitForDelivery(cmd, a, conn, d)
			})
		},
	}
	a.JSONFlag(cmd)
	return cmd
}

const (
	// attemptWait is how long a command waits for the outcome of a delivery attempt. attemptEvery is
	// the interval at which the command asks the server for the outcome.
	attemptWait  = 15 * time.Second
	attemptEvery = 200 * time.Millisecond
)

// waitForDelivery waits for the outcome of the next attempt of the delivery d, and prints d. It
// returns an error unless the endpoint has accepted the delivery.
func waitForDelivery(cmd *cobra.Command, a *setup.App, conn *connection.Conn, d *perdure.Delivery) error {
	before := d.AttemptedAt
	for end := time.Now().Add(attemptWait); time.Now().Before(end); {
		now, err := conn.Delivery(cmd.Context(), d.WebhookID, d.ID)
		if err != nil {
			return err
		}
		if d = now; d.Status != perdure.DeliveryPending || d.AttemptedAt != nil && (before == nil || d.AttemptedAt.After(before.Time)) {
			break
		}
		select {
		case <-cmd.Context().Done():
			return cmd.Context().Err()
		case <-time.After(attemptEvery):
		}
	}
	if a.JSON {
		return a.Stdout.PrintJSON(d)
	}
	if d.Status == perdure.DeliveryDelivered {
		return a.Stdout.Linef("delivery %s: the endpoint answered %d", d.ID, d.ResponseStatus)
	}
	return perdure.Errorf(perdure.Unavailable, "delivery %s is %s: %s; perdure webhooks deliveries %s shows what becomes of it", d.ID, d.Status, deliveryAnswer(d), d.WebhookID)
}
