package tenant

import (
	"slices"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/rules"
	"github.com/perdure/perdure/internal/store"
)

// Prune marks an ended execution, or its log, for deletion if the execution ended longer ago than
// q.OlderThan. If OlderThan is nil, the retention period applies.
func Prune(s *store.State, q store.PruneQuery) (*store.Changes, error) {
	x := s.Execution
	if x == nil || !x.Status.Terminal() || x.CompletedAt == nil {
		return nil, nil
	}
	if len(q.Status) > 0 && !slices.Contains(q.Status, x.Status) {
		return nil, nil
	}
	period := s.Retention.Executions
	if q.Kind == store.PruneLogs {
		period = s.Retention.Logs
	}
	over := period != nil && period.Over(*x.CompletedAt, s.Now)
	if q.OlderThan != nil {
		over = x.CompletedAt.Add(*q.OlderThan).Reached(s.Now)
	}
	if !over {
		return nil, nil
	}
	prune := &store.Prune{Execution: q.Kind == store.PruneExecutions, Log: q.Kind == store.PruneLogs}
	return &store.Changes{Prune: prune, Answer: &rules.Decision{Hints: []rules.Hint{{Kind: rules.HintLog, Execution: x.ID}}}}, nil
}

// PruneCheckpoints deletes about the given number of rows of checkpoints whose retention has ended.
// It does not delete the newest checkpoint of the execution.
func PruneCheckpoints(s *store.State, rows int) (*store.Changes, error) {
	period := s.Retention.Checkpoints
	if s.Execution == nil || period == nil || *period == perdure.Forever {
		return nil, nil
	}
	before := s.Now.Add(-time.Duration(*period))
	return &store.Changes{Prune: &store.Prune{Checkpoints: &before, Rows: rows}, Answer: &rules.Decision{}}, nil
}

// DropExecution deletes about the given number of rows of an execution that is marked for deletion.
func DropExecution(rows int) (*store.Changes, error) {
	return &store.Changes{Prune: &store.Prune{Rows: rows}, Answer: &rules.Decision{}}, nil
}

// DropStreams deletes about the given number of rows of deleted streams.
func DropStreams(rows int) (*store.Changes, error) {
	return &store.Changes{DropStreams: rows, Answer: &rules.Decision{}}, nil
}

// FreePages returns at most the given number of unused pages of the store to the file system.
func FreePages(pages int) (*store.Changes, error) {
	return &store.Changes{Free: pages, Answer: &rules.Decision{}}, nil
}

// SetRetention replaces the retention policy of an org.
func SetRetention(s *store.State, by Change, policy perdure.Retention) (*store.Changes, error) {
	return &store.Changes{Retention: &policy, Audit: by.policy(s.Now, &policy), Answer: &rules.Decision{}}, nil
}
