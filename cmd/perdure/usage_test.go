package main

import (
	"errors"
	"strings"
	"testing"

	"github.com/perdure/perdure/cmd/perdure/internal/setup"
	"github.com/perdure/perdure/cmd/perdure/internal/terminal"
	"github.com/spf13/cobra"
)

// commands returns the root command and all commands below it.
func commands(t *testing.T) []*cobra.Command {
	t.Helper()
	var out strings.Builder
	all := []*cobra.Command{newRootCommand(&setup.App{Streams: terminal.Streams{Stdout: terminal.NewScreen(&out), Stderr: terminal.NewScreen(&out)}})}
	for i := 0; i < len(all); i++ {
		all = append(all, all[i].Commands()...)
	}
	return all
}

// TestRefusedArgumentsAreExplained checks that each command refuses missing and superfluous arguments
// with an error that says what is wrong, with its usage line, and with an example of the command.
func TestRefusedArgumentsAreExplained(t *testing.T) {
	refused := 0
	for _, cmd := range commands(t) {
		if cmd.Args == nil {
			continue
		}
		for _, args := range [][]string{nil, {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"}} {
			err := cmd.Args(cmd, args)
			if err == nil || strings.Contains(err.Error(), "there is no command") || strings.Contains(err.Error(), " prompt") || strings.Contains(err.Error(), "the name of the definition") {
				continue
			}
			refused++
			var usage setup.UsageError
			if !errors.As(err, &usage) || strings.Contains(err.Error(), "arg(s)") {
				t.Errorf("%s with %d arguments: %v", cmd.CommandPath(), len(args), err)
				continue
			}
			if !strings.Contains(err.Error(), "usage:   "+cmd.CommandPath()) || !strings.Contains(err.Error(), "example: ") {
				t.Errorf("%s with %d arguments does not show its usage and an example: %v", cmd.CommandPath(), len(args), err)
			}
		}
	}
	if refused < 40 {
		t.Errorf("%d calls were refused", refused)
	}
}

// TestEachCommandHasAnExample checks that the help of each command shows an example of that command.
func TestEachCommandHasAnExample(t *testing.T) {
	for _, cmd := range commands(t) {
		if cmd.HasParent() && !cmd.Hidden && !strings.Contains(cmd.Example, cmd.CommandPath()) {
			t.Errorf("%s has no example", cmd.CommandPath())
		}
	}
}

// TestUsageErrorsNameWhatIsWrong checks that the errors for some wrong command lines name the
// missing or superfluous argument and show the usage. The exit code is ExitUsage.
func TestUsageErrorsNameWhatIsWrong(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct {
		args []string
		want []string
	}{
		{[]string{"show"}, []string{"perdure: ID is missing\n", "usage:   perdure show ID [flags]\n", "example: perdure show last\n"}},
		{[]string{"webhooks", "resend"}, []string{"ID and DELIVERY are missing"}},
		{[]string{"cancel", "last", "now"}, []string{"perdure cancel takes only ID, so now is too much"}},
		{[]string{"audit", "postgres://me:word@host/db"}, []string{"postgres://...@host/db is too much"}},
		{[]string{"audit", "x"}, []string{"perdure audit takes no arguments, so x is too much"}},
		{[]string{"signal", "last", "a", "b", "c"}, []string{"takes only ID NAME [JSON], so c is too much; an argument with spaces needs quotes"}},
		{[]string{"keys", "create"}, []string{"NAME is missing", "perdure keys create --role worker build-machine"}},
		{[]string{"keys", "create", "x", "--role"}, []string{"flag needs an argument: --role", "usage:   perdure keys create NAME --role ROLE"}},
		{[]string{"runs", "--limit", "x"}, []string{`"x"`, "usage:   perdure runs"}},
		{[]string{"runs", "--limit", "0"}, []string{`"0" for "--limit"`, "from 1 to 1000", "usage:   perdure runs"}},
		{[]string{"runs", "--limit", "-1"}, []string{"from 1 to 1000"}},
		{[]string{"runs", "--limit", "1001"}, []string{"from 1 to 1000"}},
		{[]string{"questions", "--limit", "0"}, []string{"from 1 to 1000"}},
		{[]string{"grants", "--limit", "-1"}, []string{"from 1 to 1000"}},
		{[]string{"audit", "-n", "0"}, []string{`for "-n, --limit"`, "at least 1"}},
		{[]string{"webhooks", "deliveries", "x", "--limit", "0"}, []string{"at least 1"}},
		{[]string{"bench", "--rounds", "0"}, []string{"at least 1"}},
		{[]string{"bench", "hostile", "--orgs", "0"}, []string{"from 1 to 100"}},
		{[]string{"dev", "--agents", "0"}, []string{"at least 1"}},
		{[]string{"worker", "--tasks", "-1"}, []string{"at least 1"}},
		{[]string{"server", "--payload-limit", "1025"}, []string{"from 1 to 1024"}},
	} {
		launch(t, dir, c.args...).wantEnd(setup.ExitUsage, c.want...)
	}
}
