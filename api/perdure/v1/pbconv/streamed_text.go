package pbconv

import (
	"github.com/google/uuid"
	"github.com/perdure/perdure"
	perdurev1 "github.com/perdure/perdure/api/perdure/v1"
)

// StreamedTextRequestToProto returns the message of a request for the text that a task has
// streamed.
func StreamedTextRequestToProto(execution, task uuid.UUID) *perdurev1.GetStreamedTextRequest {
	return &perdurev1.GetStreamedTextRequest{ExecutionId: UUIDToProto(execution), TaskId: UUIDToProto(task)}
}

// StreamedTextRequestFromProto converts the message of a request for the text that a task has
// streamed. Errors: invalid_argument.
func StreamedTextRequestFromProto(m *perdurev1.GetStreamedTextRequest) (execution, task uuid.UUID, err error) {
	var d decoder
	execution, task = d.id("execution_id", m.GetExecutionId()), d.id("task_id", m.GetTaskId())
	return execution, task, d.err
}

// StreamedTextToProto returns the message of the text that a task has streamed.
func StreamedTextToProto(s perdure.StreamedText) *perdurev1.GetStreamedTextResponse {
	return &perdurev1.GetStreamedTextResponse{Text: s.Text, Withheld: each(s.Withheld, hashToProto)}
}

// StreamedTextFromProto converts the message of the text that a task has streamed. Errors:
// invalid_argument.
func StreamedTextFromProto(m *perdurev1.GetStreamedTextResponse) (perdure.StreamedText, error) {
	return decode(m, func(d *decoder, m *perdurev1.GetStreamedTextResponse) perdure.StreamedText {
		return perdure.StreamedText{
			Text: m.GetText(), Withheld: each(m.GetWithheld(), func(raw []byte) perdure.Hash { return d.hash("withheld", raw) }),
		}
	})
}
