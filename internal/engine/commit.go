package engine

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"unicode/utf8"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/engine/questions"
	"github.com/perdure/perdure/internal/engine/uploads"
	"github.com/perdure/perdure/internal/rules"
	"github.com/perdure/perdure/internal/rules/validate"
	"github.com/perdure/perdure/internal/store"
)

// commit stores what an agent has done since its last commit, in one transaction.
func (e *Engine) commit(ctx context.Context, org string, c perdure.Commit) (perdure.CommitReply, error) {
	if err := e.checkCommit(c); err != nil {
		return perdure.CommitReply{}, err
	}
	if err := e.uploads.CheckSizes(c); err != nil {
		return perdure.CommitReply{}, err
	}
	contents := uploads.ContentsOf(c)
	if err := e.Kinds.FitOutput(ctx, org, c, contents); err != nil {
		return perdure.CommitReply{}, err
	}
	refs, err := e.uploads.CheckAll(ctx, org, c.Lease.ExecutionID, contents)
	if err != nil {
		return perdure.CommitReply{}, err
	}
	judged, err := e.Questions.Judge(ctx, org, c)
	if err != nil {
		return perdure.CommitReply{}, err
	}
	d, err := e.oneShown(ctx, store.Command{
		Name: "commit", Lane: store.LaneCommits, Org: org, Execution: c.Lease.ExecutionID, Bytes: sizeOf(c),
		Needs:  func(x *perdure.Execution) store.Needs { return rules.CommitNeeds(x, e.rules(), c) },
		Decide: func(s *store.State) (*store.Changes, error) { return rules.Commit(s, e.rules(), c, refs, judged) },
	})
	if err != nil {
		return perdure.CommitReply{}, err
	}
	answer := d.Value.(rules.CommitAnswer)
	if answer.Suspended && c.Retained != nil && c.Retained.WorkerID == answer.Holder {
		e.keepers.Keep(c.Lease.ExecutionID, *c.Retained, e.Store.Now())
	}
	reply, err := e.commitReply(ctx, c, answer)
	return reply, perdure.Unanswered(err)
}

func (e *Engine) commitReply(ctx context.Context, c perdure.Commit, a rules.CommitAnswer) (perdure.CommitReply, error) {
	r := perdure.CommitReply{
		Ended: a.Ended, Suspended: a.Suspended, CheckpointSeq: a.Checkpoint, Adopted: a.Adopted, At: a.At, Wait: a.Wait,
		RecordsSinceCheckpoint: a.Records,
	}
	execution := c.Lease.ExecutionID
	var err error
	if len(a.Patterns) > 0 {
		if r.Signals, _, err = pendingSignals(ctx, e.refs, execution, a.Patterns, 0); err != nil {
			return r, err
		}
	}
	if r.Questions, err = questions.ForWorker(ctx, e.refs, execution, a.Questions); err != nil {
		return r, err
	}
	if r.Tasks, err = tasksOf(ctx, e.refs, execution, a.Tasks); err != nil {
		return r, err
	}
	for _, claimed := range a.Claims {
		take := e.taskClaim
		if a.Again {
			take = e.heldClaim
		}
		claim, err := take(ctx, claimed)
		if err != nil {
			return r, err
		}
		if claim != nil {
			r.Claims = append(r.Claims, *claim)
		}
	}
	return r, nil
}

// sizeOf returns the approximate number of content bytes of a commit.
func sizeOf(c perdure.Commit) int {
	size := 0
	for _, e := range c.Entries {
		size += len(e.Content)
	}
	for _, t := range c.Tasks {
		size += len(t.Input.Bytes)
	}
	for _, s := range c.Steps {
		size += len(s.Result.Bytes)
	}
	for _, q := range c.Questions {
		size += len(q.Prompt) + len(q.Schema) + len(q.Details) + len(q.Default)
	}
	return size + len(c.Outcome.Output.Bytes)
}

var outcomes = map[perdure.OutcomeKind]bool{
	perdure.OutcomeContinue: true, perdure.OutcomeSuspend: true, perdure.OutcomeComplete: true,
	perdure.OutcomeFail: true, perdure.OutcomeCancelled: true,
}

// checkCommit checks the parts of a commit that need no stored state.
func (e *Engine) checkCommit(c perdure.Commit) error {
	if err := validate.Texts("", c); err != nil {
		return err
	}
	if err := perdure.CheckPollSize(len(c.Offer.Queues), len(c.Offer.Kinds)); err != nil {
		return err
	}
	if !outcomes[c.Outcome.Kind] {
		return perdure.FieldErrorf("outcome.kind", "%q is not an outcome; use one of %v", c.Outcome.Kind, slices.Sorted(maps.Keys(outcomes)))
	}
	if c.Outcome.Kind == perdure.OutcomeSuspend {
		if c.Outcome.Wait == nil {
			return perdure.FieldErrorf("outcome.wait", "a suspend needs a wait")
		}
		if err := c.Outcome.Wait.Check(); err != nil {
			return err
		}
	}
	if err := e.Questions.CheckAsked(c); err != nil {
		return err
	}
	for _, choice := range c.WaitChoices {
		if err := choice.Check(); err != nil {
			return err
		}
	}
	for _, ev := range c.Events {
		if !rules.MayEmit(ev.Type) {
			return perdure.FieldErrorf("events.type", "%q is not an event that an agent may emit", ev.Type)
		}
	}
	for _, n := range c.Entries {
		if err := validate.JSON("entries."+n.ID.String()+".metadata", n.Metadata); err != nil {
			return err
		}
	}
	for i, ev := range c.Events {
		if err := validate.JSON(fmt.Sprintf("events[%d].fields", i), ev.Fields); err != nil {
			return err
		}
	}
	for i, s := range c.Steps {
		if utf8.RuneCountInString(s.Instance) > perdure.MaxStepInstance {
			return perdure.FieldErrorf(fmt.Sprintf("steps[%d].instance", i), "has more than %d characters", perdure.MaxStepInstance)
		}
	}
	for i, t := range c.Tasks {
		if t.Kind == "" || t.Key == "" {
			return perdure.FieldErrorf("tasks.kind", "a task needs a kind and a key")
		}
		if err := t.Options.Check(fmt.Sprintf("tasks[%d].options", i)); err != nil {
			return err
		}
	}
	return nil
}
