package load

import (
	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store/sql/row"
	"github.com/perdure/perdure/internal/store/sql/statement"
)

// LinkRows declares the rows of the table of links to questions.
var LinkRows = row.New("question_link", 3, []row.Field[perdure.QuestionLink]{
	row.ID("agent_execution_id", func(l *perdure.QuestionLink) *uuid.UUID { return &l.ExecutionID }),
	row.ID("question_id", func(l *perdure.QuestionLink) *uuid.UUID { return &l.QuestionID }),
	row.Hash("token_sha256", func(l *perdure.QuestionLink) *perdure.Hash { return &l.TokenSHA256 }),
	row.Text("org_id", func(l *perdure.QuestionLink) *string { return &l.Org }),
	row.ID("key_id", func(l *perdure.QuestionLink) *uuid.UUID { return &l.KeyID }),
	row.Number("question_version", func(l *perdure.QuestionLink) *int64 { return &l.QuestionVersion }),
	row.Time("created_at", func(l *perdure.QuestionLink) *perdure.Time { return &l.CreatedAt }),
	row.Time("expires_at", func(l *perdure.QuestionLink) *perdure.Time { return &l.ExpiresAt }),
})

// LinkSelect is the beginning of a query for links, up to its condition.
var LinkSelect = "SELECT " + LinkRows.List("") + " FROM question_link WHERE "

var (
	// LinkByToken selects a link by the SHA-256 of its token.
	LinkByToken = statement.Read(LinkSelect + "token_sha256 = ?")
	// ExpiredLinks selects expired links, ordered by the time at which they expired.
	ExpiredLinks = statement.Read(LinkSelect + "expires_at <= ? ORDER BY expires_at LIMIT ?")
	// LinksOf selects the links to a question of an execution, newest first.
	LinksOf = statement.Read(LinkSelect + "agent_execution_id = ? AND question_id = ? ORDER BY created_at DESC, token_sha256 DESC LIMIT 1000")
)
