package tenant

import (
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/rules"
	"github.com/perdure/perdure/internal/store"
)

// workersOf returns the row of a worker that registers its kinds. If the org has too many workers,
// or the worker has no id, it returns no row.
func workersOf(s *store.State, org string, r perdure.Registration) []*perdure.WorkerInfo {
	if s.WorkerCount >= perdure.MaxListedWorkers || r.WorkerID == uuid.Nil {
		return nil
	}
	return []*perdure.WorkerInfo{{
		ID: r.WorkerID, Org: org, Version: shortVersion(r.Version), Queues: names(r.Queues), Agents: kindNames(r.Agents), Tasks: kindNames(r.Tasks),
		AgentSlots: max(r.AgentSlots, 0), TaskSlots: max(r.TaskSlots, 0), Embedded: r.Embedded, RegisteredAt: s.Now, LastSeenAt: s.Now,
	}}
}

// maxVersion is the maximum length of a worker's stored version, in bytes.
const maxVersion = 200

// shortVersion returns the first bytes of a worker's version, at most maxVersion.
func shortVersion(v string) string {
	if len(v) <= maxVersion {
		return v
	}
	return strings.ToValidUTF8(v[:maxVersion], "")
}

func kindNames(specs []perdure.KindSpec) []string {
	all := make([]string, len(specs))
	for i, spec := range specs {
		all[i] = spec.Kind
	}
	return names(all)
}

// names returns the sorted names, each once.
func names(all []string) []string {
	sorted := slices.Sorted(slices.Values(all))
	if sorted == nil {
		return []string{}
	}
	return slices.Compact(sorted)
}

// SeeWorkers records that workers were seen now. It deletes the workers that were not seen for
// perdure.WorkerKept.
func SeeWorkers(s *store.State, seen []uuid.UUID) (*store.Changes, error) {
	old := s.Now.Add(-perdure.WorkerKept)
	return &store.Changes{SeenWorkers: seen, ForgetWorkers: &old, Answer: &rules.Decision{}}, nil
}

// PauseQueue pauses a queue. The command's result is the pause. If the queue is paused
// already, nothing changes. Errors: conflict, if the org has the maximum number of paused queues.
func PauseQueue(s *store.State, by Change, queue string) (*store.Changes, error) {
	if s.Pause != nil {
		return rules.Answer(s.Pause), nil
	}
	if s.PauseCount >= perdure.MaxQueuePauses {
		return nil, perdure.Errorf(perdure.Conflict, "the org has %d paused queues, and no more are allowed; resume one", s.PauseCount)
	}
	p := &perdure.QueuePause{Org: by.Org, Queue: queue, At: s.Now}
	r := by.record(s.Now)
	r.SubjectName, r.After = queue, sumOf(p)
	d := &rules.Decision{Value: p, Hints: []rules.Hint{{Kind: rules.HintPauses}}}
	return &store.Changes{PauseQueue: p, Audit: r, Answer: d}, nil
}

// ResumeQueue ends the pause of a queue, if it is paused.
func ResumeQueue(s *store.State, by Change, queue string) (*store.Changes, error) {
	if s.Pause == nil {
		return rules.Answer(nil), nil
	}
	r := by.record(s.Now)
	r.SubjectName, r.Before = queue, sumOf(s.Pause)
	d := &rules.Decision{Hints: []rules.Hint{
		{Kind: rules.HintPauses},
		{Kind: rules.HintAgents, Org: by.Org, Queue: queue},
		{Kind: rules.HintTasks, Org: by.Org, Queue: queue},
	}}
	return &store.Changes{ResumeQueue: queue, Audit: r, Answer: d}, nil
}
