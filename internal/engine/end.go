package engine

import (
	"maps"

	"github.com/perdure/perdure"
)

// ending describes how an execution ends.
type ending struct {
	status perdure.Status
	err    *perdure.TaskError
}

// end brings the execution to a terminal status; nothing else does. In one transaction it cancels
// open tasks, answers open tool calls, closes blocks, consumes taken signals, and writes the
// lifecycle event last. The state must hold the open tasks, the open blocks and the leaf.
func (d *draft) end(e ending) error {
	why := "failed: the run ended before this call was answered"
	if e.status == perdure.StatusCancelled {
		why = "cancelled: the run was cancelled before this call was answered"
	}
	for _, t := range sortedTasks(d.s.Tasks) {
		if !t.Status.Terminal() {
			d.cancelTask(t, why)
		}
	}
	if err := d.closeOpenBlocks(); err != nil {
		return err
	}
	if err := d.closeCalls(why); err != nil {
		return err
	}
	d.c.ConsumeTaken = true
	if d.local() {
		d.c.EraseSignals = true
		if d.x.HomeID != nil { // otherwise only the server has it
			d.eraseInput()
		}
	}
	d.c.Timer = &perdure.Time{}
	now, place := d.s.Now, d.here()
	if between(d.x) {
		place = perdure.Place{} // its last response is over, and no other has begun
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
	kind, status := d.x.Kind, e.status
	d.observe(func(o Observer) { o.Ended(kind, status) })
	return nil
}

var endEvents = map[perdure.Status]perdure.EventType{
	perdure.StatusCompleted: perdure.EventCompleted,
	perdure.StatusFailed:    perdure.EventFailed,
	perdure.StatusCancelled: perdure.EventCancelled,
}

func (d *draft) cancelTask(t *perdure.Task, why string) {
	d.free(t)
	now := d.s.Now
	t.Status, t.CompletedAt = perdure.TaskCancelled, &now
	t.Error = &perdure.TaskError{Code: perdure.ExecutionEnded, Message: why, Permanent: true}
	d.task(t)
	d.taskEvent(perdure.EventTaskCancelled, t, nil)
}

// closeOpenBlocks closes all open blocks. Those of tasks are truncated: clients keep the text that
// they have received, and no more follows. Those of the agent, and terminal output, are done.
func (d *draft) closeOpenBlocks() error {
	for _, b := range sortedBlocks(d.s.Blocks) {
		reason := perdure.BlockTruncated
		if task, _ := blockSource(b.Key); task == nil || b.Type == perdure.EventTerminal {
			reason = perdure.BlockDone
		}
		if err := d.closeBlock(b, reason); err != nil {
			return err
		}
	}
	return nil
}

// closeCalls answers the tool calls that are open at the leaf.
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

// callNames returns the tools of the open calls, by call id. It reads stored entries and the
// entries that this draft appends. For a LOCAL execution the tasks supply the names, because the
// kind of a call's task is the name of its tool.
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

// callEnded emits the event that a call has its result, for clients that follow the log and read no
// entries. The agent emits the same event for the calls that it answers itself.
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
