package setup

import (
	"slices"

	"github.com/perdure/perdure"
	"github.com/spf13/cobra"
)

// OrgOrDefault returns the value of --org, or the default org.
func (a *App) OrgOrDefault() string {
	if a.Org == "" {
		return perdure.DefaultOrg
	}
	return a.Org
}

// withoutOrg are the commands, including their subcommands, to which no org applies.
var withoutOrg = []string{"dev", "server", "migrate", "ready", "store", "bench", "orgs", "version"}

// checkOrg refuses --org for a command that would ignore it.
func (a *App) checkOrg(cmd *cobra.Command) error {
	if a.Org == "" {
		return nil
	}
	for c := cmd; c.HasParent(); c = c.Parent() {
		if !c.Parent().HasParent() && slices.Contains(withoutOrg, c.Name()) {
			return NewUsageError("perdure "+c.Name()+" is not about one org", "leave out --org, and unset PERDURE_ORG")
		}
	}
	return nil
}
