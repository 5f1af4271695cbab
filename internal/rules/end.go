package rules

import (
	"maps"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
)

// EndNeeds says which rows the engine must read into the store.State for a function that may end
// the execution.
func EndNeeds(x *perdure.Execution) store.Needs {
	needs := store.Needs{OpenTasks: true, OpenBlocks: true, Taken: true, CallNames: true, Blobs: inputBlobs(x)}
	needs.OpenQuestions = x != nil && x.OpenQuestions > 0
	needs.DecidedQuestions = x != nil && x.PersistenceMode == perdure.Local && x.NeedsFeatures.Lacks(perdure.FeatureLocalQuestions) != x.NeedsFeatures
	if x != nil && x.Leaf != nil {
		needs.Entries = []uuid.UUID{*x.Leaf}
	}
	return needs
}

// notBegun is the error of a task that is cancelled between two attempts because its execution is
// being cancelled.
const notBegun = "cancelled: the execution is being cancelled"

// Cancel ends a PENDING or WAITING execution. A RUNNING one becomes CANCELLING: its pending tasks
// are cancelled, and its worker has the time CancelGrace to end it. The command's result is
// true. If the execution has ended already, the changes are nil. Error: not_found.
func Cancel(s *store.State, cfg Config, id uuid.UUID) (*store.Changes, error) {
	if s.Execution == nil {
		return nil, noExecution(id)
	}
	d := begin(s)
	switch {
	case d.x.Status.Terminal():
		return nil, nil
	case d.x.Status == perdure.StatusCancelling:
		return Answer(true), nil
	case d.x.Status == perdure.StatusRunning:
		d.x.Status = perdure.StatusCancelling
		d.x.CancelBy = s.Now.Add(cfg.CancelGrace)
		d.tellHolder()
		d.withdrawOpen("the run is being cancelled")
		d.event(perdure.EventCancelling, d.here(), map[string]any{"status": d.x.Status})
		for _, t := range sortedTasks(s.Tasks) {
			if t.Status == perdure.TaskPending {
				d.cancelTask(t, notBegun)
				d.compactionEnded(t, perdure.StatusCancelled)
			}
			d.tellTaskHolder(t)
		}
		return d.done(true), nil
	}
	if err := d.end(ending{status: perdure.StatusCancelled}); err != nil {
		return nil, err
	}
	return d.done(true), nil
}

// ending describes how an execution ends.
type ending struct {
	status perdure.Status
	err    *perdure.TaskError
}

// end sets the execution to a terminal status; no other function does. It cancels open tasks,
// appends results for open tool calls, closes blocks, consumes taken signals, and appends the
// lifecycle event last. The state must contain the open tasks, the open blocks and the leaf of the
// conversation.
func (d *draft) end(e ending) error {
	why := "failed: the run ended before this call was answered"
	if e.status == perdure.StatusCancelled {
		why = "cancelled: the run was cancelled before this call was answered"
	}
	for _, t := range sortedTasks(d.s.Tasks) {
		if !t.Status.Terminal() {
			d.cancelTask(t, why)
			d.compactionEnded(t, e.status)
		}
	}
	d.withdrawOpen("the run has ended")
	if err := d.closeOpenBlocks(); err != nil {
		return err
	}
	if err := d.closeCalls(why); err != nil {
		return err
	}
	d.c.ConsumeTaken = true
	if d.local() {
		d.eraseDecisions()
		d.c.EraseSignals = true
		if d.x.HomeID != nil { // if no worker has claimed the execution, only the server has the input
			d.eraseInput()
		}
	}
	d.c.Timer = &perdure.Time{}
	now, place := d.s.Now, d.here()
	if between(d.x) {
		place = perdure.Place{} // the last response has ended, and no other has begun
	}
	d.x.Status, d.x.CompletedAt = e.status, &now
	d.x.Wait, d.x.WaitReason = nil, ""
	d.dropLease()
	members := map[string]any{"status": e.status}
	if e.err != nil {
		d.x.Error, d.x.ErrorCode = &e.err.Message, &e.err.Code
		members["error"], members["code"] = e.err.Message, e.err.Code
	}
	d.event(endEvents[e.status], place, members)
	d.observeRun(ObservedEnd)
	return nil
}

var endEvents = map[perdure.Status]perdure.EventType{
	perdure.StatusCompleted: perdure.EventCompleted,
	perdure.StatusFailed:    perdure.EventFailed,
	perdure.StatusCancelled: perdure.EventCancelled,
}

func (d *draft) cancelTask(t *perdure.Task, why string) {
	d.free(t)
	d.tellTaskHolder(t)
	now := d.s.Now
	t.Status, t.CompletedAt = perdure.TaskCancelled, &now
	t.Error = &perdure.TaskError{Code: perdure.ExecutionEnded, Message: why, Permanent: true}
	d.task(t)
	d.taskEvent(perdure.EventTaskCancelled, t, nil)
}

// compactionEnded appends the event that a compaction failed, if the task was to write the
// compaction's summary. The agent, which normally emits this event, cannot do so after the end of
// its execution.
func (d *draft) compactionEnded(t *perdure.Task, status perdure.Status) {
	if t.Options.Compacts == "" {
		return
	}
	why := "the run ended before the summary was written"
	if status == perdure.StatusCancelled {
		why = "the run was cancelled before the summary was written"
	}
	d.event(perdure.EventData, t.Place, map[string]any{"data": map[string]any{
		"type": "compaction", "state": "failed", "reason": t.Options.Compacts, "error": why,
	}})
}

// closeCalls appends a result for each open tool call: a call at the end of the conversation that
// has no result.
func (d *draft) closeCalls(why string) error {
	if d.x.Leaf == nil {
		return nil
	}
	head, ok := d.s.Entries[*d.x.Leaf]
	if !ok || len(head.Open) == 0 {
		return nil
	}
	leaf := perdure.Entry{ID: head.ID, ResponseID: head.ResponseID}
	names, err := d.callNames()
	if err != nil {
		return err
	}
	results, err := perdure.ClosingResults(leaf, head.Open, names, why)
	if err != nil {
		return err
	}
	for _, e := range results {
		if err := d.append(perdure.NewEntry{Entry: e}); err != nil {
			return err
		}
	}
	for _, e := range results {
		d.callEnded(e, names[e.Answers], why)
	}
	return nil
}

// callNames returns the tool names of the open calls, by call id. For a REMOTE execution the names
// come from the stored entries and the new entries of this commit. The entries of a LOCAL execution
// are on its worker, so the names come from the kinds of the execution's tasks.
func (d *draft) callNames() (map[string]string, error) {
	names := map[string]string{}
	for _, t := range d.s.Tasks {
		if t.Place.ToolCallID != "" {
			names[t.Place.ToolCallID] = t.Kind
		}
	}
	maps.Copy(names, d.s.CallNames)
	for _, e := range d.c.Entries {
		if len(e.Calls) == 0 || e.Content == nil {
			continue
		}
		m, err := e.Message()
		if err != nil {
			return nil, err
		}
		perdure.AddCallNames(names, m.Parts)
	}
	return names, nil
}

// callEnded appends the event that a tool call has its result, for clients that follow the log and
// do not read entries. While the execution continues, the agent emits this event.
func (d *draft) callEnded(result perdure.Entry, tool, text string) {
	place := perdure.Place{ResponseID: result.ResponseID, TurnID: result.TurnID, ToolCallID: result.Answers}
	call := map[string]any{"id": result.Answers}
	if tool != "" {
		call["name"] = tool
	}
	d.event(perdure.EventData, place, map[string]any{"data": map[string]any{
		"type": "tool_call_end", "tool_call": call, "result": map[string]any{"isError": true, "text": text},
	}})
}
