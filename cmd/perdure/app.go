package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// app is the state that all commands share.
type app struct {
	stdin          io.Reader
	stdout, stderr *screen

	server, key, org, data, store string
	storeAllowOff                 []string
	json, quiet, verbose          bool
	logFormat, logLevel           string

	tracing tracing

	began bool   // flags and arguments were valid
	typed string // the flags that select the server, for commands that are suggested to the user
}

const about = `Perdure runs AI agents that outlast the process they run in.

Start with one run in the current folder:

  export ANTHROPIC_API_KEY=...        # or OPENAI_API_KEY, GEMINI_API_KEY
  perdure run "Find out why the tests fail, and mend it"

Ctrl-C interrupts the run; perdure resume ID continues it. Model calls that were
answered and tools that had finished are not repeated. perdure dev serves a web
page, and runs beside it become its clients.

A command uses the server of --server URL (with --key), else the process that owns
the data directory, else it opens the data directory itself.

Every flag can be set by a variable: --model by PERDURE_MODEL, and so on, or by
a file: PERDURE_KEY_FILE names one with the key.

Exit codes: 0 completed, 1 failed, 2 usage, 3 cancelled, 4 waiting for you,
130 interrupted.`

// root returns the whole command line.
func (a *app) root() *cobra.Command {
	cmd := &cobra.Command{
		Use: "perdure", Short: "A durable runtime for AI agents", Long: about, Version: programVersion(),
		SilenceUsage: true, SilenceErrors: true,
		Args: noCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			if err := fromEnvironment(cmd.Flags()); err != nil {
				return err
			}
			if err := a.checkLog(); err != nil {
				return err
			}
			if err := a.checkOrg(cmd); err != nil {
				return err
			}
			a.began = true
			a.typed = typedServer(cmd.Flags())
			return a.trace(cmd)
		},
	}
	flags := cmd.PersistentFlags()
	flags.StringVar(&a.server, "server", "", "address of a server, like http://127.0.0.1:8080; default: that of the data directory")
	flags.StringVar(&a.key, "key", "", "API key for --server; others see a command line while it starts, so rather PERDURE_KEY or PERDURE_KEY_FILE")
	flags.StringVar(&a.org, "org", "", "org to act in: that of --key, or any with the data directory's own token (default \"default\")")
	flags.StringVar(&a.data, "data", "", "data directory (default "+defaultData("~")+")")
	flags.StringVar(&a.store, "store", "", "URL of the database, postgres://...; default: a file in the data directory")
	flags.StringSliceVar(&a.storeAllowOff, "store-allow-off", nil, "settings of that database that may be off at the start: fsync, full_page_writes, synchronous_commit; a power failure can lose what was answered then")
	flags.BoolVarP(&a.verbose, "verbose", "v", false, "log what happens inside to standard error")
	flags.StringVar(&a.logFormat, "log-format", "", "text or json (default: text in a terminal, else json)")
	flags.StringVar(&a.logLevel, "log-level", "", "log what is at least debug, info, warn or error (default: info of servers and workers, error of others)")
	cmd.SetOut(a.stdout)
	cmd.SetErr(a.stderr)
	cmd.AddGroup(&cobra.Group{ID: "runs", Title: "Runs:"}, &cobra.Group{ID: "serve", Title: "Serving:"}, &cobra.Group{ID: "keep", Title: "Keeping:"})
	cmd.AddCommand(
		a.runCommand(), a.resumeCommand(), a.runsCommand(), a.showCommand(), a.tailCommand(), a.signalCommand(), a.cancelCommand(),
		a.devCommand(), a.serverCommand(), a.workerCommand(), a.migrateCommand(), a.readyCommand(),
		a.definitionsCommand(), a.orgsCommand(), a.keysCommand(), a.sessionsCommand(), a.auditCommand(), a.retentionCommand(), a.storeCommand(), a.benchCommand(), a.versionCommand(),
	)
	return cmd
}

// noCommand refuses arguments of a command that has only subcommands, and lists the subcommands.
func noCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var names []string
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() {
			names = append(names, sub.Name())
		}
	}
	return usageError{"there is no command " + cmd.CommandPath() + " " + args[0], "the commands are: " + strings.Join(names, ", ")}
}

// jsonFlag adds --json to a command that lists or shows data.
func (a *app) jsonFlag(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&a.json, "json", false, "print JSON")
}

// quietFlag adds --quiet to a command that follows a run.
func (a *app) quietFlag(cmd *cobra.Command) {
	cmd.Flags().BoolVarP(&a.quiet, "quiet", "q", false, "print the answer alone")
}

// envOf overrides the names of flags' variables; "" means no variable.
var envOf = map[string]string{"help": "", "version": "", "file": ""}

// fromEnvironment sets the flags that are not on the command line from variables. The variable
// PERDURE_ with the flag's name has the value. The same name with _FILE names a file with the
// value, as secrets are passed to containers and services.
func fromEnvironment(flags *pflag.FlagSet) error {
	var failed error
	flags.VisitAll(func(f *pflag.Flag) {
		name := variableOf(f)
		if f.Changed || name == "" || failed != nil {
			return
		}
		value, err := fromVariable(name)
		if err != nil {
			failed = err
		}
		if value == "" {
			return
		}
		if err := flags.Set(f.Name, value); err != nil {
			failed = usageError{name + ": " + err.Error(), "mend or unset the variable"}
			return
		}
		if f.Annotations == nil {
			f.Annotations = map[string][]string{}
		}
		f.Annotations[fromEnv] = []string{name}
	})
	return failed
}

// variableOf returns the name of a flag's variable, "" if it has none.
func variableOf(f *pflag.Flag) string {
	if given := f.Annotations[envAnnotation]; len(given) > 0 {
		return given[0]
	}
	if name, special := envOf[f.Name]; special {
		return name
	}
	return "PERDURE_" + strings.ToUpper(strings.ReplaceAll(f.Name, "-", "_"))
}

// fromVariable returns the value of a variable, or the first line of the file that it names.
func fromVariable(name string) (string, error) {
	file := os.Getenv(name + "_FILE")
	if value := os.Getenv(name); value != "" || file == "" {
		return value, nil
	}
	raw, err := os.ReadFile(file)
	if err != nil {
		return "", usageError{name + "_FILE: " + err.Error(), "mend or unset the variable"}
	}
	value, _, _ := strings.Cut(string(raw), "\n")
	return strings.TrimSpace(value), nil
}

const (
	// envAnnotation sets another variable for a flag.
	envAnnotation = "perdure-env"
	// fromEnv marks a flag that was set by a variable.
	fromEnv = "perdure-from-env"
)

// dataDir returns the data directory of this user.
func (a *app) dataDir() (string, error) {
	dir := a.data
	if dir == "" {
		home, err := os.UserHomeDir()
		if err != nil && os.Getenv("XDG_DATA_HOME") == "" {
			return "", usageError{"there is no home directory to keep runs in", "give a data directory with --data DIR or PERDURE_DATA"}
		}
		dir = defaultData(home)
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", usageError{"the data directory " + dir + " cannot be used: " + err.Error(), ""}
	}
	return abs, nil
}

func defaultData(home string) string {
	if base := os.Getenv("XDG_DATA_HOME"); filepath.IsAbs(base) {
		return filepath.Join(base, "perdure")
	}
	return filepath.Join(home, ".local", "share", "perdure")
}
