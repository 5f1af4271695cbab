package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/client"
	"github.com/spf13/cobra"
)

// keyLimits are the flags for the limits of a key.
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

// change returns the change that the given flags request.
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

func (a *app) keysSetCommand() *cobra.Command {
	var limits keyLimits
	cmd := &cobra.Command{
		Use: "set ID", Short: "Change the limits of a key; it holds within 5 s",
		Long:    "Changes the limits of a key. What is not given stays; 0 takes a limit away.",
		Example: "  perdure keys set 0198f7a0-... --max-running 100 --max-stored 0",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := uuid.Parse(args[0])
			if err != nil {
				return usageError{args[0] + " is no id of a key", "perdure keys list shows them"}
			}
			change, any := limits.change(cmd)
			if !any {
				return usageError{"no limit is given", "give --requests-per-second, --max-running or --max-stored"}
			}
			return a.look(cmd.Context(), func(l *link) error {
				key, err := l.SetKeyLimits(cmd.Context(), id, change)
				if err != nil {
					return err
				}
				if a.json {
					return a.printJSON(key)
				}
				err = a.stdout.say("key %s (%s): %s", key.Name, key.ID, limitsText(key.Limits))
				return err
			})
		},
	}
	limits.flags(cmd)
	a.jsonFlag(cmd)
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

// useText returns the last columns of a list: the usage and the limit of each.
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

// byteCount is a flag for a number of bytes, with the units K, M, G and T (powers of 1024).
type byteCount int64

const byteUnits = "KMGT"

func (b *byteCount) String() string { return byteText(int64(*b)) }

// Type implements pflag.Value.
func (b *byteCount) Type() string { return "bytes" }

// Set implements pflag.Value.
func (b *byteCount) Set(text string) error {
	digits, shift := text, 0
	if n := len(text) - 1; n > 0 {
		if unit := strings.IndexByte(byteUnits, text[n]&^0x20); unit >= 0 && text[n] >= 'A' {
			digits, shift = text[:n], 10*(unit+1)
		}
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n < 0 || n > (1<<53)>>shift {
		return fmt.Errorf("%q is no number of bytes; write 1000000, 500M or 2G", text)
	}
	*b = byteCount(n << shift)
	return nil
}

func byteText(n int64) string {
	for unit := len(byteUnits); unit > 0; unit-- {
		if size := int64(1) << (10 * unit); n >= size {
			return strconv.FormatFloat(float64(n)/float64(size), 'g', 3, 64) + byteUnits[unit-1:unit]
		}
	}
	return strconv.FormatInt(n, 10)
}
