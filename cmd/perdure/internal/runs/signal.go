package runs

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/cmd/perdure/internal/connection"
	"github.com/perdure/perdure/cmd/perdure/internal/lookup"
	"github.com/perdure/perdure/cmd/perdure/internal/setup"
	"github.com/perdure/perdure/cmd/perdure/internal/terminal"
	"github.com/spf13/cobra"
)

func newSignalCommand(a *setup.App) *cobra.Command {
	var id string
	cmd := &cobra.Command{
		Use: "signal ID NAME [JSON]", Short: "Send a run a message", GroupID: "runs",
		Long: `Sends a signal: a message that is stored until the run takes it. Signals of one
name are taken in order. The value is any JSON, null if it is left out; - reads it
from standard input. The signal userMessage is {"text": "..."}, a message of the
user; it can be sent while the run works.

Without NAME the command lists the signals of the run's kind, and which of them the
run waits for. A value that does not fit the schema of the signal is answered with
the fields and an example. A signal that the kind has not registered is stored, too.`,
		Example: `  perdure signal last userMessage '{"text": "Leave the docs alone"}'
  perdure signal 0199d7e2-... approval true --id approval-1`,
		Args: cobra.RangeArgs(1, 3), ValidArgsFunction: lookup.Complete(a),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			if len(args) == 1 {
				return connection.Read(ctx, a, func(conn *connection.Conn) error {
					x, err := lookup.Find(ctx, conn.Client, args[0])
					if err != nil {
						return err
					}
					return errNoSignal(ctx, cmd, conn.Client, x)
				})
			}
			q := client.SignalRequest{Name: args[1], ID: id, Value: json.RawMessage("null")}
			if len(args) == 3 {
				var err error
				if q.Value, err = readJSON(a, args[2]); err != nil {
					running(ctx, a, func(ctx context.Context, c *client.Client) {
						if x, missing := lookup.Find(ctx, c, args[0]); missing == nil {
							err = explainValue(ctx, c, x, q.Name, err)
						}
					})
					return err
				}
			}
			return connection.Request(ctx, a, func(conn *connection.Conn) error {
				x, err := lookup.Find(ctx, conn.Client, args[0])
				if err != nil {
					return err
				}
				reply, err := conn.Signal(ctx, x.ID, q)
				if isAbout(err, "signalValue") {
					return explainValue(ctx, conn.Client, x, q.Name, err)
				}
				if err != nil {
					return err
				}
				if reply.Unexpected && !a.JSON {
					if k, err := readSignals(ctx, conn.Client, x); err == nil {
						fmt.Fprintln(a.Stderr, "perdure: "+k.unexpectedText(q.Name))
					}
				}
				return printSignal(ctx, a, conn, x, reply)
			})
		},
	}
	cmd.Flags().StringVar(&id, "id", "", "id of the signal: sending the same again changes nothing")
	a.JSONFlag(cmd)
	return cmd
}

// maxShownValue is the maximum number of columns with which an error message repeats the value of a signal.
const maxShownValue = 120

// readJSON returns the JSON in an argument. If the argument is "-", it reads the JSON from standard input.
// Error: UsageError.
func readJSON(a *setup.App, arg string) (json.RawMessage, error) {
	text := arg
	if arg == "-" {
		raw, err := io.ReadAll(a.Stdin)
		if err != nil {
			return nil, err
		}
		text = string(raw)
	}
	var any json.RawMessage
	if err := json.Unmarshal([]byte(text), &any); err != nil {
		return nil, setup.NewUsageError("the value is no JSON: "+terminal.Cut(terminal.Inline(text), maxShownValue)+" ("+err.Error()+")", `a string needs quotes of both kinds: '"like this"'; a message is '{"text": "like this"}'`)
	}
	return json.RawMessage(text), nil
}

func printSignal(ctx context.Context, a *setup.App, conn *connection.Conn, x *perdure.Execution, reply client.SignalReply) error {
	if a.JSON {
		return a.Stdout.PrintJSON(reply)
	}
	if x.Status != reply.Status {
		x.Status, x.WaitReason, x.Wait = reply.Status, "", nil
	}
	err := a.Stdout.Linef("signal %s sent · the run: %s", reply.SignalID, lookup.StatusWord(x))
	lookup.PrintIdle(ctx, a, conn, x)
	return err
}
