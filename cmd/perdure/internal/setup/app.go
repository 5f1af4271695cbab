// Package setup contains the code that commands share: their flags and variables, errors and exit
// codes, logging and tracing, and the data directory.
package setup

import (
	"github.com/perdure/perdure/cmd/perdure/internal/terminal"
	"github.com/spf13/cobra"
)

// App is the state that all commands share. Its fields have the values of the flags that every
// command has, and of --json and --quiet.
type App struct {
	terminal.Streams
	// Version is the version of this program.
	Version string

	Server, Key, Org, data, Store string
	StoreAllowOff                 []string
	StorePlain                    bool
	JSON, Quiet, verbose          bool
	logFormat, logLevel           string

	// Tracing exports the spans of the command.
	Tracing tracing
	// ServerFlags are the flags that select the server. A message that suggests a command to the
	// user adds these flags to the command.
	ServerFlags string

	// Interrupts lets the command handle Ctrl-C.
	Interrupts *Interrupts

	lines *terminal.LineReader // of standard input; nil until it is read

	begun bool // flags and arguments were valid
}

// Lines returns the only reader of the lines of standard input. The command must not create another
// one, because the reader reads ahead.
func (a *App) Lines() *terminal.LineReader {
	if a.lines == nil {
		a.lines = &terminal.LineReader{In: a.Stdin}
	}
	return a.lines
}

// Flags adds the flags that all commands share.
func (a *App) Flags(cmd *cobra.Command) {
	flags := cmd.PersistentFlags()
	flags.StringVar(&a.Server, "server", "", "address of a server, like http://127.0.0.1:8080; default: that of the data directory")
	flags.StringVar(&a.Key, "key", "", "API key for --server; other users of the machine can see a command line, so prefer PERDURE_KEY or PERDURE_KEY_FILE")
	flags.StringVar(&a.Org, "org", "", "org to act in: that of --key, or any with the data directory's own token (default \"default\")")
	flags.StringVar(&a.data, "data", "", "data directory (default "+defaultDataDir("~")+")")
	flags.StringVar(&a.Store, "store", "", "URL of the database, postgres://...; default: a file in the data directory")
	flags.StringSliceVar(&a.StoreAllowOff, "store-allow-off", nil, "settings of that database that may be off at the start: fsync, full_page_writes, synchronous_commit; a power failure can lose what was answered then")
	flags.BoolVar(&a.StorePlain, "store-plain", false, "turn off the optimizations of the store, to find out whether one of them is at fault: each write is a transaction of its own, so many runs at once get slower (docs/operations.md)")
	flags.BoolVarP(&a.verbose, "verbose", "v", false, "log what happens inside to standard error")
	flags.StringVar(&a.logFormat, "log-format", "", "text or json (default: text in a terminal, else json)")
	flags.StringVar(&a.logLevel, "log-level", "", "log what is at least debug, info, warn or error (default: info of servers and workers, error of others)")
}

// Begin reads the flags of a command and starts its tracing, before the command runs.
func (a *App) Begin(cmd *cobra.Command) error {
	if err := ReadVariables(cmd.Flags()); err != nil {
		return err
	}
	if err := a.checkLogFlags(); err != nil {
		return err
	}
	if err := a.checkOrg(cmd); err != nil {
		return err
	}
	a.begun = true
	a.ServerFlags = serverFlags(cmd.Flags())
	return a.startTracing(cmd)
}
