package rules

import (
	"slices"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// outcome applies the outcome of a commit.
func (d *draft) outcome(c perdure.Commit, a *CommitAnswer) error {
	o := c.Outcome
	switch o.Kind {
	case perdure.OutcomeSuspend:
		return d.suspend(*o.Wait, a)
	case perdure.OutcomeComplete:
		return d.complete(c, a)
	case perdure.OutcomeFail:
		failure := d.quiet(o.Error)
		if failure == nil {
			failure = &perdure.TaskError{Code: perdure.Internal, Message: "the agent failed without saying why"}
		}
		a.Ended = perdure.StatusFailed
		return d.end(ending{status: a.Ended, err: failure})
	case perdure.OutcomeCancelled:
		a.Ended = perdure.StatusCancelled
		return d.end(ending{status: a.Ended})
	}
	return nil
}

// suspend evaluates the wait in the transaction that stores it, so that no wake-up is missed. If
// the wait is met already, the execution stays RUNNING, and the worker continues. Error:
// invalid_argument, if the wait names a task that does not exist, because such a wait would never
// end.
func (d *draft) suspend(w perdure.Wait, a *CommitAnswer) error {
	for _, id := range w.Tasks() {
		if d.s.Tasks[id] == nil {
			return perdure.FieldErrorf("outcome.wait", "execution %s has no task %s to wait for", d.x.ID, id)
		}
	}
	for _, id := range w.Questions() {
		if d.s.Questions[id] == nil {
			return noQuestionHere(d.x.ID, "outcome.wait", id)
		}
	}
	f := facts{now: d.s.Now, tasks: map[uuid.UUID]perdure.TaskStatus{}, signals: d.pendingNames(), questions: finalQuestions(d.s.Questions)}
	for id, t := range d.s.Tasks {
		f.tasks[id] = t.Status
	}
	w, d.x.RecordedWaits = w.At(d.s.Now, d.x.RecordedWaits)
	marked, met := w.Mark(f)
	if met {
		d.goesOn(w)
		a.Wait = &marked
		a.Patterns = w.Signals()
		a.Tasks = endedOf(d.s.Tasks, w.Tasks())
		for _, id := range w.Questions() {
			a.addQuestion(id)
		}
		return nil
	}
	a.Suspended = true
	d.x.Status, d.x.Wait, d.x.WaitReason = perdure.StatusWaiting, &marked, marked.Reason()
	d.dropLease()
	d.endedWell()
	// No older timer can exist: it was deleted when the execution became PENDING.
	if due, ok := marked.NextTimer(); ok {
		d.c.Timer = &due
		d.hint(Hint{Kind: HintDue})
	}
	d.waits()
	return nil
}

// waits appends an event with the reason of the wait to the execution's log. If the execution waits
// for a signal or a question, waits also adds an observation.
func (d *draft) waits() {
	if d.x.WaitReason == perdure.WaitKindSignal.String() || d.x.WaitReason == perdure.WaitKindQuestion.String() {
		d.observeRun(ObservedWait)
	}
	members := map[string]any{"status": d.x.Status, "reason": d.x.WaitReason, "wait": d.x.Wait}
	if d.x.OpenQuestions > 0 {
		members["openQuestions"] = d.x.OpenQuestions
	}
	d.event(perdure.EventWaiting, d.here(), members)
}

// finalQuestions reports for each question, by its id, whether the question is no longer open.
func finalQuestions(all map[uuid.UUID]*perdure.Question) map[uuid.UUID]bool {
	final := map[uuid.UUID]bool{}
	for id, q := range all {
		final[id] = q != nil && q.Status.Final()
	}
	return final
}

// pendingNames returns the names of the pending signals, without those that this commit takes.
func (d *draft) pendingNames() []string {
	var names []string
	for _, s := range d.s.Pending {
		if !slices.Contains(d.c.Take, s.ID) {
			names = append(names, s.Name)
		}
	}
	return names
}

// complete ends the execution. But if a pending signal matches a pattern in the Unless of the
// commit's outcome, the execution continues, so that the agent reads a message that has arrived
// just before the end.
func (d *draft) complete(c perdure.Commit, a *CommitAnswer) error {
	cancelling := d.x.Status == perdure.StatusCancelling
	if f := (facts{signals: d.pendingNames()}); !cancelling && slices.ContainsFunc(c.Outcome.Unless, f.SignalPending) {
		a.Patterns = c.Outcome.Unless
		return nil
	}
	if err := d.useContent(c.Outcome.Output.Blob, uuid.Nil); err != nil {
		return err
	}
	d.x.Output, d.x.OutputBlob = c.Outcome.Output.Bytes, c.Outcome.Output.Blob
	d.endedWell()
	a.Ended = perdure.StatusCompleted
	if cancelling {
		a.Ended = perdure.StatusCancelled
	}
	return d.end(ending{status: a.Ended})
}

func endedOf(tasks map[uuid.UUID]*perdure.Task, ids []uuid.UUID) []uuid.UUID {
	var ended []uuid.UUID
	for _, id := range ids {
		if t := tasks[id]; t != nil && t.Status.Terminal() {
			ended = append(ended, id)
		}
	}
	return ended
}
