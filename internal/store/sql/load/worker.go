package load

import (
	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store/sql/row"
	"github.com/perdure/perdure/internal/store/sql/statement"
)

// WorkerRows declares the rows of the table of workers.
var WorkerRows = row.New("worker", 2, []row.Field[perdure.WorkerInfo]{
	row.Text("org_id", func(x *perdure.WorkerInfo) *string { return &x.Org }),
	row.ID("id", func(x *perdure.WorkerInfo) *uuid.UUID { return &x.ID }),
	row.Text("version", func(x *perdure.WorkerInfo) *string { return &x.Version }),
	row.JSON("queues", func(x *perdure.WorkerInfo) *[]string { return &x.Queues }, nil),
	row.JSON("agents", func(x *perdure.WorkerInfo) *[]string { return &x.Agents }, nil),
	row.JSON("tasks", func(x *perdure.WorkerInfo) *[]string { return &x.Tasks }, nil),
	row.Number("agent_slots", func(x *perdure.WorkerInfo) *int { return &x.AgentSlots }),
	row.Number("task_slots", func(x *perdure.WorkerInfo) *int { return &x.TaskSlots }),
	row.Flag("embedded", func(x *perdure.WorkerInfo) *bool { return &x.Embedded }),
	row.Time("registered_at", func(x *perdure.WorkerInfo) *perdure.Time { return &x.RegisteredAt }),
	row.Time("seen_at", func(x *perdure.WorkerInfo) *perdure.Time { return &x.LastSeenAt }),
})

// PauseRows declares the rows of the table of paused queues.
var PauseRows = row.New("queue_pause", 2, []row.Field[perdure.QueuePause]{
	row.Text("org_id", func(x *perdure.QueuePause) *string { return &x.Org }),
	row.Text("queue", func(x *perdure.QueuePause) *string { return &x.Queue }),
	row.Time("paused_at", func(x *perdure.QueuePause) *perdure.Time { return &x.At }),
})

// PauseSelect is the beginning of a query for paused queues.
var PauseSelect = "SELECT " + PauseRows.List("p") + " FROM queue_pause p WHERE p.org_id = ?1 AND "

// PauseOfQueue selects the pause of a queue.
var PauseOfQueue = statement.Read(PauseSelect + "p.queue = ?2")
