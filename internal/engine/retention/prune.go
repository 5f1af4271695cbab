package retention

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/rules/tenant"
	"github.com/perdure/perdure/internal/store"
)

const (
	// StepRows is the approximate number of rows that one command of a sweep deletes. It is so
	// small that the command delays other writes by only a few milliseconds.
	StepRows = 200
	// prunePage is the number of candidates for deletion that one query returns.
	prunePage = 100
	// freePages is the maximum number of unused pages that one command returns to the file system.
	freePages = 128
	// spareBytes is how many bytes of unused pages a sweep leaves in the database file if it has
	// pruned nothing. A sweep that has pruned something leaves none.
	spareBytes = 64 << 20
)

// PruneRequest is a request to delete data whose retention has ended.
type PruneRequest struct {
	// OlderThan, if set, selects the executions that ended at least that long ago, regardless of
	// the retention policies. Only these executions are then deleted. If it is nil, the policies
	// decide which executions, checkpoints and logs are deleted.
	OlderThan *time.Duration
	// Status and DefinitionID, if set, restrict the deletion to executions with these values.
	// Checkpoints and logs of other executions are then not deleted.
	Status       []perdure.Status
	DefinitionID *uuid.UUID
	// DryRun asks for the report without any deletion.
	DryRun bool
}

// PruneReport reports what a prune deleted or, in a dry run, would delete.
type PruneReport struct {
	DryRun      bool       `json:"dryRun"`
	Executions  PruneCount `json:"executions"`
	Checkpoints PruneCount `json:"checkpoints"`
	Logs        PruneCount `json:"logs"`
	// More reports whether there is more to prune. The caller can call Prune again.
	More bool `json:"more" doc:"There is more to prune; ask again."`
}

// PruneCount counts the rows of one sort that were deleted, such as executions or checkpoints.
type PruneCount struct {
	Count int64 `json:"count"`
	// Bytes is the size of the deleted contents, without the overhead of their rows.
	Bytes int64 `json:"bytes"`
	// Oldest is the earliest time at which a counted execution ended or, for checkpoints, the
	// earliest creation time.
	Oldest   *perdure.Time            `json:"oldest,omitempty"`
	ByStatus map[perdure.Status]int64 `json:"byStatus,omitempty"`
	ByKind   map[string]int64         `json:"byKind,omitempty"`
}

func (c *PruneCount) add(p store.Prunable) {
	c.Count += p.Count
	c.Bytes += p.Bytes
	if c.Oldest == nil || p.Since.Before(c.Oldest.Time) {
		since := p.Since
		c.Oldest = &since
	}
	if c.ByStatus == nil {
		c.ByStatus, c.ByKind = map[perdure.Status]int64{}, map[string]int64{}
	}
	c.ByStatus[p.Status] += p.Count
	c.ByKind[p.Kind] += p.Count
}

// of returns a pointer to the field of the report that counts the deleted rows of the kind.
func (r *PruneReport) of(kind store.PruneKind) *PruneCount {
	switch kind {
	case store.PruneCheckpoints:
		return &r.Checkpoints
	case store.PruneLogs:
		return &r.Logs
	}
	return &r.Executions
}

var pruneKinds = []store.PruneKind{store.PruneExecutions, store.PruneLogs, store.PruneCheckpoints}

// Prune deletes data whose retention has ended, a bounded part in each call, and returns unused
// pages to the file system. PruneReport.More reports whether another call would delete more. Error:
// invalid_argument, if neither a policy nor OlderThan defines what to delete.
func (p *Pruner) Prune(ctx context.Context, org string, r PruneRequest) (PruneReport, error) {
	report := PruneReport{DryRun: r.DryRun}
	if err := p.checkPrune(ctx, org, r); err != nil {
		return report, err
	}
	for _, kind := range pruneKinds {
		if kind != store.PruneExecutions && (r.OlderThan != nil || len(r.Status) > 0 || r.DefinitionID != nil) {
			continue
		}
		q := store.PruneQuery{
			Kind: kind, Org: org, OlderThan: r.OlderThan, Status: r.Status, DefinitionID: r.DefinitionID, Limit: prunePage,
		}
		more, err := p.pruneKind(ctx, q, r.DryRun, report.of(kind))
		if err != nil {
			return report, err
		}
		report.More = report.More || more
	}
	if r.DryRun {
		return report, nil
	}
	return report, errors.Join(p.dropMarked(ctx), p.free(ctx, 0))
}

func (p *Pruner) checkPrune(ctx context.Context, org string, r PruneRequest) error {
	if r.OlderThan != nil && *r.OlderThan < 0 {
		return perdure.FieldErrorf("olderThan", "must not be negative")
	}
	for _, status := range r.Status {
		if !status.Terminal() {
			return perdure.FieldErrorf("status", "%s is no end; only executions that have ended can be pruned: COMPLETED, FAILED, CANCELLED", status)
		}
	}
	if r.OlderThan != nil {
		return nil
	}
	_, set, err := p.Tenants.Retention(ctx, org)
	if err != nil || set {
		return err
	}
	own, err := p.Store.Prunable(ctx, store.PruneQuery{Kind: store.PruneExecutions, Org: org, Limit: 1})
	if err != nil || len(own.Items) > 0 {
		return err
	}
	return perdure.FieldErrorf("olderThan", "is missing, and the org has no retention policy: say how old what is deleted must be, or set a policy first (PUT .../retention)")
}

// pruneKind prunes the candidates on the first page of the query's result, and reports whether
// there are more pages. In a dry run it prunes nothing, and counts the candidates on all pages.
func (p *Pruner) pruneKind(ctx context.Context, q store.PruneQuery, dry bool, count *PruneCount) (more bool, err error) {
	for {
		page, err := p.Store.Prunable(ctx, q)
		if err != nil {
			return false, err
		}
		for _, item := range page.Items {
			changed := true
			if !dry {
				if changed, err = p.pruneOne(ctx, q, item); err != nil {
					return false, err
				}
			}
			if changed {
				count.add(item)
			}
		}
		if q.Cursor = page.Next; !dry || page.Next == "" {
			return page.Next != "", nil
		}
	}
}

// pruneOne marks one candidate for deletion, or deletes its old checkpoints. The command itself
// checks again whether the retention has ended, because the candidate may have changed after the
// query. pruneOne reports whether the command changed anything.
func (p *Pruner) pruneOne(ctx context.Context, q store.PruneQuery, item store.Prunable) (bool, error) {
	decide := func(s *store.State) (*store.Changes, error) { return tenant.Prune(s, q) }
	if q.Kind == store.PruneCheckpoints {
		decide = func(s *store.State) (*store.Changes, error) { return tenant.PruneCheckpoints(s, StepRows) }
	}
	changed := false
	for left := item.Count; left > 0; left -= StepRows {
		d, err := p.Do(ctx, store.Command{
			Name: "prune " + string(q.Kind), Lane: store.LaneSweeps, Frees: true, Org: item.Org, Execution: item.ID,
			Needs:  func(*perdure.Execution) store.Needs { return store.Needs{Retention: true} },
			Decide: decide,
		})
		if err != nil {
			return changed, err
		}
		changed = changed || len(d) > 0
	}
	return changed, nil
}

// dropMarked deletes the rows of executions that are marked for deletion, and then those of deleted
// streams, in commands of about StepRows rows.
func (p *Pruner) dropMarked(ctx context.Context) error {
	if err := p.dropExecutions(ctx); err != nil {
		return err
	}
	for {
		left, err := p.Store.DeadStreams(ctx)
		if err != nil || !left {
			return err
		}
		_, err = p.Do(ctx, store.Command{
			Name: "drop streams", Lane: store.LaneSweeps, Frees: true,
			Decide: func(*store.State) (*store.Changes, error) { return tenant.DropStreams(StepRows) },
		})
		if err != nil {
			return err
		}
	}
}

func (p *Pruner) dropExecutions(ctx context.Context) error {
	for {
		steps, err := p.Do(ctx, store.Command{
			Name: "prune rows", Lane: store.LaneSweeps, Frees: true, Pick: &store.Pick{Kind: store.PickPruned, Limit: 1},
			Decide: func(*store.State) (*store.Changes, error) { return tenant.DropExecution(StepRows) },
		})
		if err != nil || len(steps) == 0 {
			return err
		}
	}
}

// free returns unused pages of the store to the file system. It stops when at most `spare` bytes of
// unused pages are left.
func (p *Pruner) free(ctx context.Context, spare int64) error {
	for {
		pages, size, err := p.Store.Unused(ctx)
		if err != nil || pages == 0 || pages*size <= spare {
			return err
		}
		_, err = p.Do(ctx, store.Command{
			Name: "free", Lane: store.LaneSweeps, Frees: true,
			Decide: func(*store.State) (*store.Changes, error) { return tenant.FreePages(freePages) },
		})
		if err != nil {
			return err
		}
		left, _, err := p.Store.Unused(ctx)
		if err != nil || left >= pages {
			return err
		}
	}
}
