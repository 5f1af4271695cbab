package tenant

import (
	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store/sql/column"
	"github.com/perdure/perdure/internal/store/sql/row"
	"github.com/perdure/perdure/internal/store/sql/statement"
)

// GrantRows declares the rows of the table of approval grants. The column number is not included,
// because the database assigns it.
var GrantRows = row.New("approval_grant", 1, []row.Field[perdure.ApprovalGrant]{
	row.ID("id", func(g *perdure.ApprovalGrant) *uuid.UUID { return &g.ID }),
	row.Text("org_id", func(g *perdure.ApprovalGrant) *string { return &g.Org }),
	row.Text("scope", func(g *perdure.ApprovalGrant) *perdure.GrantScope { return &g.Scope }),
	row.Text("match_kind", func(g *perdure.ApprovalGrant) *perdure.GrantMatch { return &g.Match }),
	row.OptID("agent_execution_id", func(g *perdure.ApprovalGrant) **uuid.UUID { return &g.ExecutionID }),
	row.OptID("agent_definition_id", func(g *perdure.ApprovalGrant) **uuid.UUID { return &g.DefinitionID }),
	row.Text("subject", func(g *perdure.ApprovalGrant) *string { return &g.Subject }),
	row.OptHash("details_sha256", func(g *perdure.ApprovalGrant) *perdure.Hash { return &g.DetailsSHA256 }),
	row.ID("question_id", func(g *perdure.ApprovalGrant) *uuid.UUID { return &g.QuestionID }),
	row.JSON("voters", func(g *perdure.ApprovalGrant) *[]string { return &g.Voters }, nil),
	row.Number("needed", func(g *perdure.ApprovalGrant) *int { return &g.Needed }),
	row.JSON("voted_by", func(g *perdure.ApprovalGrant) *[]string { return &g.By }, nil),
	row.Time("created_at", func(g *perdure.ApprovalGrant) *perdure.Time { return &g.CreatedAt }),
	row.Time("expires_at", func(g *perdure.ApprovalGrant) *perdure.Time { return &g.ExpiresAt }),
})

// GrantSelect is the beginning of a query for grants, up to its condition.
var GrantSelect = "SELECT " + GrantRows.List("") + " FROM approval_grant WHERE "

var (
	// GrantInOrg selects an approval grant of an org that has not expired at the time ?3.
	GrantInOrg = statement.Read(GrantSelect + "id = ?1 AND " + column.Unindexed("org_id") + " = ?2 AND expires_at > ?3")
	// GrantsOfRun and GrantsOfDefinition select the approval grants that have not expired at the
	// time ?2.
	GrantsOfRun        = statement.Read(GrantSelect + "agent_execution_id = ?1 AND expires_at > ?2 ORDER BY number")
	GrantsOfDefinition = statement.Read(GrantSelect + "agent_definition_id = ?1 AND expires_at > ?2 ORDER BY number")
)
