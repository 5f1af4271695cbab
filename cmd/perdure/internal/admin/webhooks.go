package admin

import (
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/cmd/perdure/internal/connection"
	"github.com/perdure/perdure/cmd/perdure/internal/setup"
	"github.com/perdure/perdure/cmd/perdure/internal/terminal"
	"github.com/spf13/cobra"
)

func newWebhooksCommand(a *setup.App) *cobra.Command {
	cmd := &cobra.Command{
		Use: "webhooks", Short: "Send events of runs to your own HTTP endpoints", GroupID: "keep",
		Long: `A webhook is a URL to which the server posts an event when a run changes its status,
or when a question is asked or answered. Each request is signed with the webhook's
secret as Standard Webhooks describes, so that your endpoint can verify it with any
of their libraries. It holds ids and statuses, never text of a conversation.

An endpoint accepts an event with a status of 2xx within 10 seconds. Otherwise the
event is sent again after 5 s, 30 s, 5 min, 30 min, 2 h, 5 h, 10 h and 24 h. Events
may arrive twice and in any order: webhook-id tells repeats, data.seq the order.
Only an admin may use this command; who owns the data directory is one.`,
		Example: `  perdure webhooks create https://example.com/perdure --events 'question.*,agent.failed'
  perdure webhooks test ID
  perdure webhooks deliveries ID --status dead`,
		Args: setup.NoCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(
		newListCommand(a, "webhooks", "List the webhooks", (*client.Client).Webhooks, printWebhooks),
		newWebhooksCreateCommand(a), newWebhooksSetCommand(a), newWebhooksDeleteCommand(a), newWebhooksRotateCommand(a),
		newWebhooksTestCommand(a), newDeliveriesCommand(a), newResendCommand(a),
	)
	return cmd
}

// webhookID parses the id of a webhook.
func webhookID(text string) (uuid.UUID, error) {
	id, err := uuid.Parse(text)
	if err != nil {
		return id, setup.NewUsageError(text+" is no id of a webhook", "perdure webhooks list shows them")
	}
	return id, nil
}

func newWebhooksCreateCommand(a *setup.App) *cobra.Command {
	var (
		s   client.WebhookSettings
		key string
	)
	cmd := &cobra.Command{
		Use: "create URL", Short: "Make a webhook and print its secret, this once",
		Example: "  perdure webhooks create https://example.com/perdure\n  perdure webhooks create https://example.com/q --events 'question.*' --description 'to the chat'",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			s.URL = args[0]
			if s.KeyID, err = changedKey(key != "", key, nil); err != nil {
				return err
			}
			return connection.Request(cmd.Context(), a, func(conn *connection.Conn) error {
				made, err := conn.CreateWebhook(cmd.Context(), s)
				if err != nil {
					return err
				}
				return printWebhookSecret(a, made)
			})
		},
	}
	cmd.Flags().StringSliceVar(&s.Events, "events", nil, "what to send: types and patterns, like 'agent.failed,question.*' (agent.*)")
	cmd.Flags().StringVar(&s.Description, "description", "", "a note for people")
	cmd.Flags().StringVar(&key, "key-id", "", keyIDHelp)
	_ = cmd.RegisterFlagCompletionFunc("events", cobra.FixedCompletions(eventNames(), cobra.ShellCompDirectiveNoFileComp))
	a.JSONFlag(cmd)
	return cmd
}

const keyIDHelp = "id of a key: question.asked then carries a link with which that key answers"

// changedKey returns the API key of a webhook after a change. If `changed` is set, this is the key
// with the id `text`, or no key if `text` is empty. Otherwise the webhook keeps its key `known`.
func changedKey(changed bool, text string, known *uuid.UUID) (*uuid.UUID, error) {
	if !changed {
		return known, nil
	}
	if text == "" {
		return nil, nil
	}
	id, err := uuid.Parse(text)
	if err != nil {
		return nil, setup.NewUsageError(text+" is no id of a key", "perdure keys list shows them")
	}
	return &id, nil
}

// eventNames returns the types of events that webhooks can receive.
func eventNames() (names []string) {
	for _, e := range perdure.WebhookEvents() {
		names = append(names, string(e.Type))
	}
	return names
}

// printWebhookSecret prints only the secret to standard output, for use in a pipe. With --json it
// prints the whole webhook.
func printWebhookSecret(a *setup.App, w *client.NewWebhook) error {
	if a.JSON {
		return a.Stdout.PrintJSON(w)
	}
	if w.Secret == "" {
		return a.Stdout.Linef("webhook %s is signed with its newest secret only", w.ID)
	}
	_ = a.Stderr.Linef("webhook %s (%s, %s); this is the only time that its secret is shown:", w.ID, w.URL, strings.Join(w.Events, ", "))
	_, err := fmt.Fprintln(a.Stdout, w.Secret)
	return err
}

func printWebhooks(a *setup.App, webhooks []*perdure.Webhook) error {
	if a.JSON {
		return a.Stdout.PrintJSON(client.Page[*perdure.Webhook]{Items: webhooks})
	}
	if len(webhooks) == 0 {
		_, err := fmt.Fprintln(a.Stdout, "no webhooks")
		return err
	}
	t := terminal.Table{Columns: []terminal.Column{
		{Head: "ID"},
		{Head: "STATE", Style: webhookStyle},
		{Head: "MADE", Omit: 1},
		{Head: "EVENTS"},
		{Head: "URL", Cut: true},
	}}
	for _, w := range webhooks {
		t.Add(w.ID.String(), webhookState(w), w.CreatedAt.Local().Format(terminal.TimeFormat), strings.Join(w.Events, ","), w.URL)
	}
	return t.Print(a.Stdout)
}

func webhookState(w *perdure.Webhook) string {
	switch {
	case w.Enabled:
		return "enabled"
	case w.DisabledReason != "":
		return "disabled: " + w.DisabledReason
	}
	return "disabled"
}

func webhookStyle(cell string) terminal.Style {
	if cell == "enabled" {
		return terminal.StyleNone
	}
	return terminal.StyleWarn
}

func newWebhooksSetCommand(a *setup.App) *cobra.Command {
	var (
		s               client.WebhookSettings
		enable, disable bool
		key             string
	)
	cmd := &cobra.Command{
		Use: "set ID", Short: "Change a webhook; what no flag names stays",
		Example: "  perdure webhooks set ID --enable\n  perdure webhooks set ID --url https://example.com/new --events '*'",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := webhookID(args[0])
			if err != nil {
				return err
			}
			if enable || disable {
				s.Enabled = &enable
			}
			flags := cmd.Flags()
			if !slices.ContainsFunc([]string{"url", "events", "description", "key-id", "enable", "disable"}, flags.Changed) {
				return setup.NewUsageError("nothing is to be changed", "give --url, --events, --description, --key-id, --enable or --disable")
			}
			return connection.Request(cmd.Context(), a, func(conn *connection.Conn) error {
				known, err := conn.Webhook(cmd.Context(), id)
				if err != nil {
					return err
				}
				if !flags.Changed("url") {
					s.URL = known.URL
				}
				if !flags.Changed("events") {
					s.Events = known.Events
				}
				if !flags.Changed("description") {
					s.Description = known.Description
				}
				if s.KeyID, err = changedKey(flags.Changed("key-id"), key, known.KeyID); err != nil {
					return err
				}
				w, err := conn.SetWebhook(cmd.Context(), id, s)
				if err != nil {
					return err
				}
				if a.JSON {
					return a.Stdout.PrintJSON(w)
				}
				return a.Stdout.Linef("webhook %s is %s: %s, %s", w.ID, webhookState(w), w.URL, strings.Join(w.Events, ", "))
			})
		},
	}
	f := cmd.Flags()
	f.StringVar(&s.URL, "url", "", "where events are posted to")
	f.StringSliceVar(&s.Events, "events", nil, "what to send: types and patterns, like 'agent.failed,question.*'")
	f.StringVar(&s.Description, "description", "", "a note for people")
	f.StringVar(&key, "key-id", "", keyIDHelp+`; "" for none`)
	f.BoolVar(&enable, "enable", false, "send again; events that waited are sent first")
	f.BoolVar(&disable, "disable", false, "send nothing until it is enabled")
	cmd.MarkFlagsMutuallyExclusive("enable", "disable")
	a.JSONFlag(cmd)
	return cmd
}

func newWebhooksDeleteCommand(a *setup.App) *cobra.Command {
	cmd := &cobra.Command{
		Use: "delete ID", Short: "Delete a webhook and its deliveries", Args: cobra.ExactArgs(1),
		Example: "  perdure webhooks delete 0199d7e2-...",
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := webhookID(args[0])
			if err != nil {
				return err
			}
			return connection.Request(cmd.Context(), a, func(conn *connection.Conn) error {
				if err := conn.DeleteWebhook(cmd.Context(), id); err != nil {
					return err
				}
				if a.JSON {
					return a.Stdout.PrintJSON(map[string]uuid.UUID{"id": id})
				}
				return a.Stdout.Linef("webhook %s is deleted", id)
			})
		},
	}
	a.JSONFlag(cmd)
	return cmd
}

func newWebhooksRotateCommand(a *setup.App) *cobra.Command {
	dropOld := false
	cmd := &cobra.Command{
		Use: "rotate ID", Short: "Make a new secret and print it, this once",
		Example: "  perdure webhooks rotate 0199d7e2-...",
		Long: `Makes a new secret. For 24 hours each request is signed with both secrets, so that
your endpoint may verify it with either. Give your endpoint the new secret in that
time; then "rotate ID --drop-old" ends the use of the old one earlier.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := webhookID(args[0])
			if err != nil {
				return err
			}
			return connection.Request(cmd.Context(), a, func(conn *connection.Conn) error {
				w, err := conn.RotateWebhook(cmd.Context(), id, dropOld)
				if err != nil {
					return err
				}
				return printWebhookSecret(a, w)
			})
		},
	}
	cmd.Flags().BoolVar(&dropOld, "drop-old", false, "make no new secret, and end the use of the old one now")
	a.JSONFlag(cmd)
	return cmd
}
