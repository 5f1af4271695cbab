package runs

import (
	"context"
	"encoding/json"
	"io"
	"strings"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/cmd/perdure/internal/connection"
	"github.com/perdure/perdure/cmd/perdure/internal/setup"
	"github.com/spf13/cobra"
)

func newSignalCommand(a *setup.App) *cobra.Command {
	var id string
	cmd := &cobra.Command{
		Use: "signal ID NAME [JSON]", Short: "Send a run a message", GroupID: "runs",
		Long: `Sends a signal: a message that is stored until the run takes it. Signals of one
name are taken in order. The value is any JSON, null if it is left out; - reads it
from standard input. The signal userMessage is {"text": "..."}, a message of the
user; it can be sent while the run works.`,
		Example: `  perdure signal last userMessage '{"text": "Leave the docs alone"}'
  perdure signal 0199d7e2-... approval true --id approval-1`,
		Args: cobra.RangeArgs(2, 3), ValidArgsFunction: completeRuns(a),
		RunE: func(cmd *cobra.Command, args []string) error {
			q := client.SignalRequest{Name: args[1], ID: id, Value: json.RawMessage("null")}
			if len(args) == 3 {
				var err error
				if q.Value, err = readJSON(a, args[2]); err != nil {
					return err
				}
			}
			ctx := cmd.Context()
			return connection.Request(ctx, a, func(conn *connection.Conn) error {
				x, err := findRun(ctx, conn.Client, args[0])
				if err != nil {
					return err
				}
				reply, err := conn.Signal(ctx, x.ID, q)
				if err != nil {
					return err
				}
				return printSignal(ctx, a, conn, x, reply)
			})
		},
	}
	cmd.Flags().StringVar(&id, "id", "", "id of the signal: sending the same again changes nothing")
	a.JSONFlag(cmd)
	return cmd
}

func readJSON(a *setup.App, arg string) (json.RawMessage, error) {
	text := arg
	if arg == "-" {
		raw, err := io.ReadAll(a.Stdin)
		if err != nil {
			return nil, err
		}
		text = string(raw)
	}
	if !json.Valid([]byte(text)) {
		return nil, setup.NewUsageError("the value is no JSON: "+text, `a string needs quotes of both kinds: '"like this"'; a message is '{"text": "like this"}'`)
	}
	return json.RawMessage(text), nil
}

func printSignal(ctx context.Context, a *setup.App, conn *connection.Conn, x *perdure.Execution, reply client.SignalReply) error {
	if a.JSON {
		return a.Stdout.PrintJSON(reply)
	}
	err := a.Stdout.Linef("signal %s sent; the run is %s", reply.SignalID, strings.ToLower(string(reply.Status)))
	if reply.Unexpected {
		_ = a.Stderr.Linef("%s registers no signal of this name; the signal waits until the run takes it", x.Kind)
	}
	x.Status, x.WaitReason = reply.Status, ""
	printIdle(ctx, a, conn, x)
	return err
}
