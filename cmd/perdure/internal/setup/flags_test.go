package setup

import (
	"errors"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// mistyped runs a command line of a small program, and returns the error.
func mistyped(args ...string) error {
	run := func(*cobra.Command, []string) error { return nil }
	root := &cobra.Command{Use: "perdure", Args: NoCommand, RunE: run, SilenceErrors: true, SilenceUsage: true}
	root.SetFlagErrorFunc(FlagError)
	sub := &cobra.Command{Use: "run", RunE: run}
	sub.Flags().String("model", "", "")
	sub.Flags().String("queue", "", "")
	sub.Flags().String("secret", "", "")
	if err := sub.Flags().MarkHidden("secret"); err != nil {
		return err
	}
	root.AddCommand(sub, &cobra.Command{Use: "resume", RunE: run})
	root.SetArgs(args)
	return root.Execute()
}

// TestMistypedNamesAreAnsweredWithTheNearest checks the remedy for a mistyped command or flag.
func TestMistypedNamesAreAnsweredWithTheNearest(t *testing.T) {
	for line, want := range map[string]string{
		"rn":             "did you mean run? perdure --help lists the commands",
		"resum":          "did you mean resume? perdure --help lists the commands",
		"elsewhere":      "the commands are: completion, resume, run",
		"run --modell x": "did you mean --model? perdure run --help shows the flags",
		"run --que x":    "did you mean --queue? perdure run --help shows the flags",
		"run --secrte x": "usage:   perdure run [flags]\n  perdure run --help shows more",
		"run --zzzz":     "usage:   perdure run [flags]\n  perdure run --help shows more",
		"run -z":         "usage:   perdure run [flags]\n  perdure run --help shows more",
	} {
		err := mistyped(strings.Fields(line)...)
		if err == nil {
			t.Errorf("%s is accepted", line)
			continue
		}
		_, remedy, _ := strings.Cut(err.Error(), "\n  ")
		var usage UsageError
		if remedy != want || !errors.As(err, &usage) {
			t.Errorf("%s is answered with %q, want the remedy %q", line, err, want)
		}
	}
}

// TestNamesInRows checks that a list of names is broken into rows of at most 76 columns.
func TestNamesInRows(t *testing.T) {
	long := strings.Repeat("x", 30)
	if got, want := inRows("the commands are:", []string{long, "b", long, "c"}), "the commands are: "+long+", b,\n"+long+", c"; got != want {
		t.Errorf("the rows are %q, want %q", got, want)
	}
}
