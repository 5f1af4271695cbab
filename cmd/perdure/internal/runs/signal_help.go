package runs

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/cmd/perdure/internal/lookup"
	"github.com/perdure/perdure/cmd/perdure/internal/schemas"
	"github.com/perdure/perdure/cmd/perdure/internal/setup"
	"github.com/perdure/perdure/cmd/perdure/internal/terminal"
	"github.com/spf13/cobra"
)

// knownSignals has the signals that the run's kind has registered, and the names of those that the
// run waits for.
type knownSignals struct {
	run     *perdure.Execution
	specs   []perdure.SignalSpec
	awaited []string
}

// builtinSignals are the signals of the built-in agent, which registers no signals.
var builtinSignals = []perdure.SignalSpec{
	{
		Name: perdure.UserMessage, Description: "a message of the user",
		Schema: json.RawMessage(`{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}`),
	},
	{
		Name: client.ChooseModel(perdure.ModelChoice{}).Name, Description: "chooses the model of the next turns",
		Schema: json.RawMessage(`{"type":"object","properties":{"provider":{"type":"string"},"modelId":{"type":"string"}},"required":["provider","modelId"]}`),
	},
	{Name: perdure.RetrySignal, Description: "repeats a failed turn"},
}

// readSignals returns the signals that the kind of a run takes. If no worker has registered the kind's
// signals, the result has none, and the error is nil.
func readSignals(ctx context.Context, c *client.Client, x *perdure.Execution) (knownSignals, error) {
	k := knownSignals{run: x, awaited: lookup.AwaitedSignals(x)}
	if x.Kind == perdure.ReactKind {
		k.specs = builtinSignals
		return k, nil
	}
	kind, err := findKind(ctx, c, x.Kind)
	k.specs = kind.Signals
	return k, err
}

// names returns the names of the signals. The names of awaited signals come first. Patterns of names
// are left out.
func (k knownSignals) names() []string {
	names := slices.Clone(k.awaited)
	for _, s := range k.specs {
		if !slices.Contains(names, s.Name) {
			names = append(names, s.Name)
		}
	}
	return slices.DeleteFunc(names, perdure.IsPattern)
}

// spec returns the registration of a signal. If the kind has not registered the signal, the result
// has only the name.
func (k knownSignals) spec(name string) perdure.SignalSpec {
	for _, s := range k.specs {
		if s.Name == name || perdure.IsPattern(s.Name) && perdure.MatchName(s.Name, name) {
			return s
		}
	}
	return perdure.SignalSpec{Name: name}
}

// text lists the signals, and says which of them the run waits for.
func (k knownSignals) text() string {
	var rows [][2]string
	add := func(name string) {
		about := k.spec(name).Description
		if slices.Contains(k.awaited, name) {
			about = strings.TrimPrefix(about+"; the run waits for it", "; ")
		}
		rows = append(rows, [2]string{name, about})
	}
	for _, name := range k.awaited {
		add(name)
	}
	for _, s := range k.specs {
		if !slices.ContainsFunc(rows, func(r [2]string) bool { return r[0] == s.Name }) {
			add(s.Name)
		}
	}
	if len(rows) == 0 {
		return "agents of the kind " + terminal.Inline(k.run.Kind) + " have registered no signals, and the run waits for none"
	}
	return "the signals of " + terminal.Inline(k.run.Kind) + " are:\n" + listText(rows)
}

// explain describes the value of a signal, with an example of the command.
func (k knownSignals) explain(name string) string {
	command := "perdure signal " + k.run.ID.String() + " " + setup.ShellWord(terminal.Inline(name))
	if text := schemas.Explain(k.spec(name).Schema, command); text != "" {
		return text
	}
	return "example: " + command
}

// errNoSignal returns the error of a command that names no signal.
func errNoSignal(ctx context.Context, cmd *cobra.Command, c *client.Client, x *perdure.Execution) error {
	if x.Status.Terminal() {
		return perdure.Errorf(perdure.ExecutionEnded, "the run %s is %s and takes no more signals", x.ID, lookup.StatusWord(x))
	}
	k, err := readSignals(ctx, c, x)
	if err != nil {
		return err
	}
	remedy := k.text()
	if names := k.names(); len(names) > 0 {
		remedy += "\n" + k.explain(names[0])
	}
	return setup.NewUsageError("NAME is missing: the name of the signal", remedy+"\nusage:   "+cmd.UseLine())
}

// explainValue returns an error about the value of a signal, extended by a description of the value
// that the signal takes.
func explainValue(ctx context.Context, c *client.Client, x *perdure.Execution, name string, wrong error) error {
	k, err := readSignals(ctx, c, x)
	if err != nil {
		return wrong
	}
	problem := "the value does not fit the signal " + terminal.Inline(name) + ": " + misfit(wrong, "signalValue")
	var usage setup.UsageError
	if errors.As(wrong, &usage) { // the value is not JSON
		problem = usage.Problem
	}
	return setup.NewUsageError(problem, k.explain(name))
}

// unexpectedText says that a kind has not registered a signal that was sent, and names the signals that
// the user may have meant.
func (k knownSignals) unexpectedText(name string) string {
	text := terminal.Inline(k.run.Kind) + " registers no signal " + terminal.Inline(name) + "; it is stored, and waits until the run takes it"
	if near := setup.Nearest(name, k.names()); len(near) > 0 {
		return text + "\n  did you mean " + terminal.Inline(strings.Join(near, " or ")) + "?"
	}
	return text + "\n  " + strings.ReplaceAll(k.text(), "\n", "\n  ")
}
