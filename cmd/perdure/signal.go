package main

import (
	"encoding/json"
	"io"
	"strings"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/client"
	"github.com/spf13/cobra"
)

func (a *app) signalCommand() *cobra.Command {
	var id string
	cmd := &cobra.Command{
		Use: "signal ID NAME [JSON]", Short: "Send a run a message", GroupID: "runs",
		Long: `Sends a signal: a message that is stored until the run takes it. Signals of one
name are taken in order. The value is any JSON, null if it is left out; - reads it
from standard input. The signal userMessage is {"text": "..."}, a message of the
user; it can be sent while the run works.`,
		Example: `  perdure signal last userMessage '{"text": "Leave the docs alone"}'
  perdure signal 0199d7e2-... approval true --id approval-1`,
		Args: cobra.RangeArgs(2, 3), ValidArgsFunction: a.completeRuns,
		RunE: func(cmd *cobra.Command, args []string) error {
			q := client.SignalRequest{Name: args[1], ID: id, Value: json.RawMessage("null")}
			if len(args) == 3 {
				var err error
				if q.Value, err = a.readJSON(args[2]); err != nil {
					return err
				}
			}
			ctx := cmd.Context()
			return a.look(ctx, func(l *link) error {
				x, err := findRun(ctx, l.Client, args[0])
				if err != nil {
					return err
				}
				reply, err := l.Signal(ctx, x.ID, q)
				if err != nil {
					return err
				}
				return a.printSignal(l, x, reply)
			})
		},
	}
	cmd.Flags().StringVar(&id, "id", "", "id of the signal: sending the same again changes nothing")
	a.jsonFlag(cmd)
	return cmd
}

func (a *app) readJSON(arg string) (json.RawMessage, error) {
	text := arg
	if arg == "-" {
		raw, err := io.ReadAll(a.stdin)
		if err != nil {
			return nil, err
		}
		text = string(raw)
	}
	if !json.Valid([]byte(text)) {
		return nil, usageError{"the value is no JSON: " + text, `a string needs quotes of both kinds: '"like this"'; a message is '{"text": "like this"}'`}
	}
	return json.RawMessage(text), nil
}

func (a *app) printSignal(l *link, x *perdure.Execution, reply client.SignalReply) error {
	if a.json {
		return a.printJSON(reply)
	}
	err := a.stdout.say("signal %s sent; the run is %s", reply.SignalID, strings.ToLower(string(reply.Status)))
	x.Status, x.WaitReason = reply.Status, ""
	a.tellIdle(l, x)
	return err
}

func (a *app) cancelCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "cancel ID", Short: "End a run", GroupID: "runs",
		Long: "Cancels a run and all that it has started. A run that works has 30 s\nto end by itself. One that has ended stays as it is. ID may be \"last\".",
		Args: cobra.ExactArgs(1), ValidArgsFunction: a.completeRuns,
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			return a.look(ctx, func(l *link) error {
				x, err := findRun(ctx, l.Client, args[0])
				if err != nil {
					return err
				}
				if x, err = l.Cancel(ctx, x.ID); err != nil {
					return err
				}
				return a.printExecution(x, func() {
					_ = a.stdout.say("run %s is %s", x.ID, strings.ToLower(string(x.Status)))
				})
			})
		},
	}
	a.jsonFlag(cmd)
	return cmd
}
