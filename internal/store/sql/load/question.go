package load

import (
	"encoding/json"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store/sql/column"
	"github.com/perdure/perdure/internal/store/sql/load/contents"
	"github.com/perdure/perdure/internal/store/sql/row"
	"github.com/perdure/perdure/internal/store/sql/statement"
)

// QuestionRows declares the rows of the table of questions, without their numbers, which the
// database assigns.
var QuestionRows = row.New("question", 2, []row.Field[perdure.Question]{
	row.ID("agent_execution_id", func(q *perdure.Question) *uuid.UUID { return &q.ExecutionID }),
	row.ID("id", func(q *perdure.Question) *uuid.UUID { return &q.ID }),
	row.Text("org_id", func(q *perdure.Question) *string { return &q.Org }),
	row.Text("question_key", func(q *perdure.Question) *string { return &q.Key }),
	row.Text("kind", func(q *perdure.Question) *perdure.QuestionKind { return &q.Kind }).Unread(),
	row.OptText("subject", func(q *perdure.Question) *string { return &q.Subject }).Unread(),
	row.JSON("terms", func(q *perdure.Question) *perdure.QuestionTerms { return &q.QuestionTerms }, nil),
	row.OptID("entry_id", func(q *perdure.Question) **uuid.UUID { return &q.EntryID }),
	row.OptText("call_id", func(q *perdure.Question) *string { return &q.CallID }),
	row.Hash("details_sha256", func(q *perdure.Question) *perdure.Hash { return &q.DetailsSHA256 }),
	row.JSON("place", func(q *perdure.Question) *perdure.Place { return &q.Place }, nil),
	row.OptTime("expires_at", func(q *perdure.Question) **perdure.Time { return &q.ExpiresAt }),
	row.Text("status", func(q *perdure.Question) *perdure.QuestionStatus { return &q.Status }),
	row.JSON("answer", func(q *perdure.Question) **perdure.Answer { return &q.Answer }, row.IsNil),
	row.JSON("votes", func(q *perdure.Question) *[]perdure.Vote { return &q.Votes }, func(v *[]perdure.Vote) bool { return len(*v) == 0 }),
	row.OptID("task_id", func(q *perdure.Question) **uuid.UUID { return &q.TaskID }),
	row.Number("version", func(q *perdure.Question) *int64 { return &q.Version }),
	row.Time("created_at", func(q *perdure.Question) *perdure.Time { return &q.CreatedAt }),
	row.OptTime("decided_at", func(q *perdure.Question) **perdure.Time { return &q.DecidedAt }),
	row.JSON("askers", func(q *perdure.Question) *[]uuid.UUID { return &q.Askers }, func(ids *[]uuid.UUID) bool { return *ids == nil }),
	row.Blob("details_blob", func(q *perdure.Question) **perdure.BlobRef { return &q.DetailsBlob }),
	row.RawBytes("details", func(q *perdure.Question) *json.RawMessage { return &q.Details }),
}).Written(
	[]string{"status", "answer", "votes", "task_id", "version", "decided_at"},
	[]string{"status", "answer", "votes", "task_id", "version", "decided_at", "details_sha256", "details"},
)

var questionSelect = "SELECT " + QuestionRows.List("") + " FROM question WHERE "

var (
	// QuestionByID selects a question by its execution and its id. QuestionInOrg selects a question
	// by its org and its id.
	QuestionByID  = statement.Read(questionSelect + "agent_execution_id = ? AND id = ?")
	QuestionInOrg = statement.Read(questionSelect + "id = ?1 AND " + column.Unindexed("org_id") + " = ?2")
	// OpenQuestions selects the open questions of an execution.
	OpenQuestions = statement.Read(questionSelect + "agent_execution_id = ? AND status = 'open'")
	// DecidedQuestions selects the questions of an execution that are not open.
	DecidedQuestions = statement.Read(questionSelect + "agent_execution_id = ? AND status <> 'open'")
	// DueQuestions selects the open questions of an execution that have expired at the time ?2.
	DueQuestions = statement.Read(questionSelect + "agent_execution_id = ?1 AND status = 'open' AND expires_at IS NOT NULL AND expires_at <= ?2")
	// SignalKeys selects the API keys that sent the signals which the execution has taken or
	// consumed. NULL stands for the token of the data directory.
	SignalKeys = statement.Read("SELECT DISTINCT sender_key_id FROM agent_signal WHERE agent_execution_id = ? AND state IN ('taken', 'consumed') LIMIT ?")
)

// Questions reads the questions that a query selects.
func Questions(v statement.View, query *statement.Statement, args ...any) ([]*perdure.Question, error) {
	all, err := QuestionRows.All(v, query, args...)
	if err != nil {
		return nil, err
	}
	return all, CompleteQuestions(v, all...)
}

// CompleteQuestions sets the lengths and the hashes of scanned references to details. It ignores
// questions that are nil.
func CompleteQuestions(v statement.View, all ...*perdure.Question) error {
	for _, q := range all {
		if q == nil {
			continue
		}
		if err := contents.CompleteRef(v, q.ExecutionID, q.DetailsBlob); err != nil {
			return err
		}
	}
	return nil
}

// AskedBytes returns the size of a question without its answer, in bytes.
func AskedBytes(q *perdure.Question) int {
	n := len(q.Details) + len(q.Schema) + len(q.Prompt) + len(q.Default)
	for _, c := range q.Choices {
		n += len(c.Value) + len(c.Label) + len(c.Description)
	}
	return n
}
