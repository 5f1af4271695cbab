package pick

import (
	"slices"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/internal/store/sql/column"
	"github.com/perdure/perdure/internal/store/sql/load/tenant"
	"github.com/perdure/perdure/internal/store/sql/statement"
)

// pending contains PENDING executions that one read has found, as candidates for several pickers.
type pending struct {
	all  []ranked
	full bool // there may be more such executions
	held bool // all rows that were found are locked by other transactions
}

func (p *pending) read(pickers []*Picker, query *statement.Statement, fetch int, now perdure.Time) func(statement.View) error {
	return func(v statement.View) (err error) {
		p.held = false
		p.all, p.full, err = readAgents(v, pickers, query, fetch, now)
		return notHeld(err, &p.held)
	}
}

// pickAgents picks executions for the pickers. It reads the first rows of each queue and kind, and
// takes the executions that have been PENDING longest. Its cost depends on the number of executions
// that it picks, not on the number that are pending.
func pickAgents(v statement.View, pickers []*Picker, now perdure.Time) error {
	if err := free(v, pickers); err != nil {
		return err
	}
	pickers = open(pickers)
	if len(pickers) == 0 {
		return nil
	}
	p, limit := pickers[0].Pick, takes(pickers)
	var alone, others pending
	reads := []func(statement.View) error{alone.read(pickers, v.Dialect.PendingAlone, 1, now)}
	if !p.AloneOnly {
		reads = append(reads, others.read(pickers, v.Dialect.PendingAgents, limit, now))
	}
	if err := v.Together(reads...); err != nil {
		return err
	}
	alone.all = distinct(alone.all, 1)
	switch {
	case p.AloneOnly && alone.held:
		return statement.ErrHeld
	case p.AloneOnly:
		pickers[0].Got = candidates(alone.all)
		return nil
	case len(alone.all) > 0 && len(pickers) > 1:
		return ErrApart
	}
	for fetch := limit; ; {
		if others.held && len(alone.all) == 0 {
			return statement.ErrHeld
		}
		if others.dealt(pickers, limit, alone.all) {
			return nil
		}
		fetch *= 2
		if err := others.read(pickers, v.Dialect.PendingAgents, fetch, now)(v); err != nil {
			return err
		}
	}
}

// dealt distributes the executions in p.all to the pickers, which can take `limit` in all. If p.all
// has fewer executions than that, and more may be pending, dealt distributes nothing and returns
// false. A single picker also gets the executions in `alone`.
func (p *pending) dealt(pickers []*Picker, limit int, alone []ranked) bool {
	all := distinct(p.all, len(p.all))
	if len(pickers) > 1 {
		if p.full && dealt(all, pickers) < limit {
			return false
		}
		deal(all, pickers)
		return true
	}
	all = all[:min(len(all), limit)]
	if len(all) < limit && p.full {
		return false
	}
	all = append(all, alone...)
	slices.SortStableFunc(all, byRank)
	pickers[0].Got, pickers[0].InOrder = candidates(all), len(alone) > 0
	return true
}

// dealt returns how many of the found candidates the pickers would take together.
func dealt(found []ranked, pickers []*Picker) (n int) {
	trial := make([]*Picker, len(pickers))
	for i, p := range pickers {
		one := *p
		trial[i] = &one
	}
	deal(found, trial)
	return takes(pickers) - takes(trial)
}

// readAgents reads the first candidates of each queue and kind, at most `fetch` of each, except
// those that every picker skips. The result `full` reports whether there may be more candidates.
// Errors: ErrHeld if other transactions have locked all rows that it finds.
func readAgents(v statement.View, pickers []*Picker, query *statement.Statement, fetch int, now perdure.Time) (all []ranked, full bool, err error) {
	org, p := pickers[0].Org, pickers[0].Pick
	orgs, err := tenant.PendingOrgs(v, org, orgsOfAgents)
	if err != nil {
		return nil, false, err
	}
	var reads []func(statement.View) error
	held := false
	eachHead(orgs, p, func(h head) {
		for _, narrow := range claimable(p.Home) {
			reads = append(reads, func(v statement.View) error {
				n := 0
				err := v.Each(query, append([]any{h.org, h.queue, h.kind, lacking(p)}, append(narrow, column.Millis(now), fetch)...), func(row func(...any) error) error {
					n++
					r := ranked{org: h.org}
					if err := row(&r.Execution, &r.since); err != nil {
						return err
					}
					if !slices.ContainsFunc(pickers, func(p *Picker) bool { return !p.skips(r) }) {
						return nil
					}
					all = append(all, r)
					return nil
				})
				full = full || n == fetch
				if err == nil && n == 0 {
					err = heldPending(v, query, append([]any{h.org, h.queue, h.kind, lacking(p)}, append(narrow, column.Millis(now), 1)...))
				}
				return notHeld(err, &held)
			})
		}
	})
	if err = v.Together(reads...); err == nil && held && len(all) == 0 {
		err = statement.ErrHeld
	}
	slices.SortStableFunc(all, byRank)
	return all, full, err
}

// lacking returns the bits of the features that the claiming worker does not have.
func lacking(p *store.Pick) int64 { return int64(^p.Features) }

// claimable returns the pairs of persistence_mode and home_worker_id that the executions for a pick
// may have; `home` is Pick.Home. Each pair is a range of the index.
func claimable(home *uuid.UUID) [][]any {
	modes := [][]any{{string(perdure.Remote), nil}}
	if home != nil {
		modes = append(modes, []any{string(perdure.Local), nil}, []any{string(perdure.Local), column.OptID(home)})
	}
	return modes
}
