package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/client"
)

// Hostile is the experiment that measures how much an attacking org slows down the other orgs.
type Hostile struct {
	Stores  []string      // values as in Config.Stores
	Attacks []string      // names from [Attacks]; empty means all, at the same time
	Orgs    int           // number of well-behaved orgs
	For     time.Duration // duration of each window
	Folder  string        // folder for the databases; "" is the system's temporary folder
	// OrgsCPU is the value for the field OrgsCPU of server.Config.
	OrgsCPU int
	// Profiles is a directory for a CPU profile of the server during the attacks; "" writes none.
	Profiles string
}

// guestVerbs are the operations whose times the guests measure, in the order of the printed table.
var guestVerbs = []string{"start", "step", "task", "signal", "get", "list", "log", "stream"}

// Run measures the times of the well-behaved orgs, first without and then with the attacks of the hostile
// org. It prints a table for each store. Errors: invalid_argument for an unknown attack or store.
func (h Hostile) Run(ctx context.Context, out io.Writer) error {
	if err := h.check(); err != nil {
		return err
	}
	return inFolder(h.Folder, func(all *stores) (err error) {
		defer func() { err = errors.Join(err, all.close()) }()
		m, err := machine(all.folder)
		if err != nil {
			return err
		}
		for _, store := range h.Stores {
			if m.Postgres, err = all.begin(ctx, store, m.Postgres); err != nil {
				return err
			}
		}
		m.print(out)
		for _, store := range h.Stores {
			if err := h.on(ctx, all, store, out); err != nil {
				return err
			}
		}
		return nil
	})
}

func (h Hostile) check() error {
	for _, name := range h.Attacks {
		if !slices.Contains(Attacks(), name) {
			return perdure.FieldErrorf("attack", "there is no attack %q; there are %s", name, strings.Join(Attacks(), ", "))
		}
	}
	switch {
	case h.Orgs < 1 || h.Orgs > 100:
		return perdure.FieldErrorf("orgs", "must be from 1 to 100")
	case h.OrgsCPU > 100:
		return perdure.FieldErrorf("orgs-cpu", "must be at most 100")
	case h.For < 2*time.Second:
		return perdure.FieldErrorf("for", "must be at least 2s")
	}
	c := Config{Stores: h.Stores}
	_, err := c.normal()
	return err
}

// on measures the effect of the attacks on one store.
func (h Hostile) on(ctx context.Context, all *stores, store string, out io.Writer) (err error) {
	s, err := setUp(ctx, all, store, deploymentSpec{noWorker: true, orgsCPU: h.OrgsCPU})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	guests, err := h.guests(s)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, guests.close()) }()
	var warm, alone map[string][]time.Duration
	if err := guests.ask("window", max(2*time.Second, h.For/4), &warm); err != nil {
		return err
	}
	var quiet windowUsage
	if alone, quiet, err = h.window(s, guests); err != nil {
		return err
	}
	attacker, err := h.attacker(s)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, attacker.close()) }()
	if err := attacker.ask("begin", h.Attacks, nil); err != nil {
		return err
	}
	if err := guests.ask("window", max(2*time.Second, h.For/4), &warm); err != nil { // so that the attack reaches its full rate before the measurement
		return err
	}
	var done attackCounts
	if err := attacker.ask("counts", struct{}{}, &done); err != nil { // resets the counts
		return err
	}
	endProfile, err := h.profile(s, store)
	if err != nil {
		return err
	}
	beside, busy, err := h.window(s, guests)
	if err = errors.Join(err, endProfile()); err != nil {
		return err
	}
	done = attackCounts{}
	if err := attacker.ask("counts", struct{}{}, &done); err != nil {
		return err
	}
	kind, _, _ := strings.Cut(store, ":")
	if done.nothing() {
		return fmt.Errorf("the hostile org got nothing done: %v", done.Refused)
	}
	fmt.Fprintf(out, "\n%s, %d orgs, load %s\n- alone: %s\n- beside a hostile one: %s\n\n", kind, h.Orgs, loadNow(), quiet, busy)
	printGuests(out, alone, beside)
	fmt.Fprintln(out)
	done.print(out, h.Attacks)
	return nil
}

// windowUsage is the server's resource usage during one measurement.
type windowUsage struct {
	resourceUsage
	scheduling string
	took       time.Duration
}

func (m windowUsage) String() string {
	return fmt.Sprintf("the server used %.2f cores; %s", m.CPU.Seconds()/m.took.Seconds(), m.scheduling)
}

// window lets the guests send requests for the duration h.For. It returns how long those requests
// took, and the server's resource usage in that time.
func (h Hostile) window(s *deployment, guests *child) (samples map[string][]time.Duration, m windowUsage, err error) {
	var before, after schedulerStats
	var used resourceUsage
	began := time.Now()
	err = errors.Join(s.server.ask("used", false, &used), s.server.ask("scheduled", struct{}{}, &before))
	if err == nil {
		err = guests.ask("window", h.For, &samples)
	}
	if err == nil {
		err = errors.Join(s.server.ask("used", false, &m.resourceUsage), s.server.ask("scheduled", struct{}{}, &after))
	}
	if err != nil {
		return nil, m, err
	}
	m.took = time.Since(began)
	m.CPU -= used.CPU
	m.scheduling = after.within(before, m.took)
	return samples, m, nil
}

// profile starts a CPU profile of the server if Profiles is set. The caller must call the returned
// function, which stops the profile.
func (h Hostile) profile(s *deployment, store string) (end func() error, err error) {
	if h.Profiles == "" {
		return func() error { return nil }, nil
	}
	kind, _, _ := strings.Cut(store, ":")
	end = func() error { return s.server.ask("profile", "", nil) }
	return end, s.server.ask("profile", filepath.Join(h.Profiles, "hostile-"+kind+".cpu"), nil)
}

func (h Hostile) guests(s *deployment) (*child, error) {
	var specs []orgSpec
	for i := range h.Orgs {
		spec, err := s.newOrg(fmt.Sprintf("guest-%d", i))
		if err != nil {
			return nil, err
		}
		specs = append(specs, spec)
	}
	return s.spawnFor("guests", specs)
}

// attacker starts the process of the hostile org. The process has the lowest priority, because in
// production the clients of that org would run on other machines.
func (h Hostile) attacker(s *deployment) (*child, error) {
	spec, err := s.newOrg("hostile")
	if err != nil {
		return nil, err
	}
	c, err := s.spawnFor("attacker", spec)
	if err != nil {
		return nil, err
	}
	const lowest = 19
	return c, syscall.Setpriority(syscall.PRIO_PGRP, c.cmd.Process.Pid, lowest)
}

func (s *deployment) spawnFor(role string, spec any) (*child, error) {
	raw, err := json.Marshal(spec)
	if err != nil {
		return nil, err
	}
	return spawn(s.ctx, role, string(raw))
}

// newOrg creates an org with an admin key without limits.
func (s *deployment) newOrg(name string) (orgSpec, error) {
	if _, err := s.api.CreateOrg(s.ctx, name); err != nil {
		return orgSpec{}, err
	}
	key, err := s.api.With(func(o *client.Options) { o.Org = name }).CreateKey(s.ctx, "bench", perdure.KeyAdmin)
	if err != nil {
		return orgSpec{}, err
	}
	return orgSpec{HTTP: s.at.HTTP, GRPC: s.at.GRPC, Org: name, Key: key.Key}, nil
}

func printGuests(out io.Writer, alone, beside map[string][]time.Duration) {
	fmt.Fprintln(out, "| others | samples | p50 alone ms | p50 beside ms | ratio | p99 alone ms | p99 beside ms | ratio |")
	fmt.Fprintln(out, "|---|---:|---:|---:|---:|---:|---:|---:|")
	for _, name := range guestVerbs {
		a, b := slices.Sorted(slices.Values(alone[name])), slices.Sorted(slices.Values(beside[name]))
		fmt.Fprintf(out, "| %s | %d, %d |", name, len(a), len(b))
		for _, q := range []float64{0.5, 0.99} {
			x, y := quantile(a, q), quantile(b, q)
			fmt.Fprintf(out, " %s | %s | %.1f |", ms(x), ms(y), float64(y)/float64(max(1, x)))
		}
		fmt.Fprintln(out)
	}
}
