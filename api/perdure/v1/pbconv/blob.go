package pbconv

import (
	"github.com/google/uuid"
	"github.com/perdure/perdure"
	perdurev1 "github.com/perdure/perdure/api/perdure/v1"
)

// TasksRequestToProto asks for tasks of an execution.
func TasksRequestToProto(execution uuid.UUID, ids []uuid.UUID) *perdurev1.GetTasksRequest {
	return &perdurev1.GetTasksRequest{ExecutionId: UUIDToProto(execution), TaskIds: each(ids, func(id uuid.UUID) []byte { return id[:] })}
}

// TasksRequestFromProto converts it back.
func TasksRequestFromProto(m *perdurev1.GetTasksRequest) (execution uuid.UUID, ids []uuid.UUID, err error) {
	var d decoder
	execution, ids = d.id("execution_id", m.GetExecutionId()), d.ids("task_ids", m.GetTaskIds())
	return execution, ids, d.err
}

// BlobOwnerToProto converts who a blob belongs to, and its length.
func BlobOwnerToProto(o perdure.BlobOwner, length int64) *perdurev1.PutBlobHeader {
	return &perdurev1.PutBlobHeader{
		ExecutionId: UUIDToProto(o.ExecutionID), Length: length,
		Lease: leasePtrToProto(o.Lease), TaskLease: taskLeasePtrToProto(o.TaskLease),
	}
}

// BlobOwnerFromProto converts the owner back.
func BlobOwnerFromProto(m *perdurev1.PutBlobHeader) (perdure.BlobOwner, error) {
	return decode(m, func(d *decoder, m *perdurev1.PutBlobHeader) perdure.BlobOwner {
		return perdure.BlobOwner{
			ExecutionID: d.id("execution_id", m.GetExecutionId()),
			Lease:       d.leasePtr(m.GetLease()), TaskLease: d.taskLeasePtr(m.GetTaskLease()),
		}
	})
}
