package pbconv

import (
	"github.com/google/uuid"
	"github.com/perdure/perdure"
	perdurev1 "github.com/perdure/perdure/api/perdure/v1"
)

// TasksRequestToProto converts a request for tasks of an execution, by their ids.
func TasksRequestToProto(execution uuid.UUID, ids []uuid.UUID) *perdurev1.GetTasksRequest {
	return &perdurev1.GetTasksRequest{ExecutionId: UUIDToProto(execution), TaskIds: each(ids, func(id uuid.UUID) []byte { return id[:] })}
}

// TasksRequestFromProto converts a request for tasks from its message. Errors: invalid_argument.
func TasksRequestFromProto(m *perdurev1.GetTasksRequest) (execution uuid.UUID, ids []uuid.UUID, err error) {
	var d decoder
	execution, ids = d.id("execution_id", m.GetExecutionId()), d.ids("task_ids", m.GetTaskIds())
	return execution, ids, d.err
}

// BlobOwnerToProto converts the owner of a blob, and the blob's length in bytes, to the header of
// an upload.
func BlobOwnerToProto(o perdure.BlobOwner, length int64) *perdurev1.PutBlobHeader {
	return &perdurev1.PutBlobHeader{
		ExecutionId: UUIDToProto(o.ExecutionID), Length: length,
		Lease: leasePtrToProto(o.Lease), TaskLease: taskLeasePtrToProto(o.TaskLease),
	}
}

// BlobOwnerFromProto converts the owner of a blob from the header of an upload. Errors:
// invalid_argument.
func BlobOwnerFromProto(m *perdurev1.PutBlobHeader) (perdure.BlobOwner, error) {
	return decode(m, func(d *decoder, m *perdurev1.PutBlobHeader) perdure.BlobOwner {
		return perdure.BlobOwner{
			ExecutionID: d.id("execution_id", m.GetExecutionId()),
			Lease:       d.leasePtr(m.GetLease()), TaskLease: d.taskLeasePtr(m.GetTaskLease()),
		}
	})
}
