package admin

import (
	"fmt"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/cmd/perdure/internal/connection"
	"github.com/perdure/perdure/cmd/perdure/internal/setup"
	"github.com/spf13/cobra"
)

// keyLimits has the values of the flags that set the limits of a key.
type keyLimits struct {
	requests, running int64
	stored            byteCount
}

func (k *keyLimits) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.Int64Var(&k.requests, "requests-per-second", 0, "requests of each server; 0 for no limit")
	f.Int64Var(&k.running, "max-running", 0, "runs of the key that are at work at once; 0 for no limit")
	f.Var(&k.stored, "max-stored", "bytes kept of the key's runs and streams, like 500M or 2G; 0 for no limit")
}

func (k *keyLimits) all() perdure.KeyLimits {
	return perdure.KeyLimits{RequestsPerSecond: k.requests, MaxRunning: k.running, MaxStored: int64(k.stored)}
}

// change returns the change of a key's limits that the given flags request. The result `any` is
// false if none of these flags is given.
func (k *keyLimits) change(cmd *cobra.Command) (c client.KeyChange, any bool) {
	for name, set := range map[string]func(){
		"requests-per-second": func() { c.RequestsPerSecond = &k.requests },
		"max-running":         func() { c.MaxRunning = &k.running },
		"max-stored":          func() { n := int64(k.stored); c.MaxStored = &n },
	} {
		if cmd.Flags().Changed(name) {
			set()
			any = true
		}
	}
	return c, any
}

func newKeysSetCommand(a *setup.App) *cobra.Command {
	var limits keyLimits
	cmd := &cobra.Command{
		Use: "set ID", Short: "Change the limits of a key; they apply within 5 s",
		Long:    "Changes the limits of a key. What is not given stays; 0 takes a limit away.",
		Example: "  perdure keys set 0198f7a0-... --max-running 100 --max-stored 0",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := uuid.Parse(args[0])
			if err != nil {
				return setup.NewUsageError(args[0]+" is no id of a key", "perdure keys list shows them")
			}
			change, any := limits.change(cmd)
			if !any {
				return setup.NewUsageError("no limit is given", "give --requests-per-second, --max-running or --max-stored")
			}
			return connection.Request(cmd.Context(), a, func(conn *connection.Conn) error {
				key, err := conn.SetKeyLimits(cmd.Context(), id, change)
				if err != nil {
					return err
				}
				if a.JSON {
					return a.Stdout.PrintJSON(key)
				}
				err = a.Stdout.Linef("key %s (%s): %s", key.Name, key.ID, limitsText(key.Limits))
				return err
			})
		},
	}
	limits.flags(cmd)
	a.JSONFlag(cmd)
	return cmd
}

func limitsText(l perdure.KeyLimits) string {
	of := func(n int64, text string) string {
		if n == 0 {
			return "any"
		}
		return text
	}
	return fmt.Sprintf("requests per second %s, running %s, stored %s",
		of(l.RequestsPerSecond, fmt.Sprint(l.RequestsPerSecond)), of(l.MaxRunning, fmt.Sprint(l.MaxRunning)), of(l.MaxStored, byteText(l.MaxStored)))
}

// useText returns the texts of the last three columns in the list of keys. Each column shows what the key
// uses, and its limit if the key has that limit.
func useText(k *perdure.APIKey) (requests, running, stored string) {
	of := func(used, most string, limited bool) string {
		if !limited {
			return used
		}
		return used + " of " + most
	}
	requests = "any"
	if n := k.Limits.RequestsPerSecond; n > 0 {
		requests = fmt.Sprint(n)
	}
	var use perdure.KeyUse
	if k.Use != nil {
		use = *k.Use
	}
	return requests,
		of(fmt.Sprint(use.Running), fmt.Sprint(k.Limits.MaxRunning), k.Limits.MaxRunning > 0),
		of(byteText(use.Stored), byteText(k.Limits.MaxStored), k.Limits.MaxStored > 0)
}
