package tenant

import (
	"encoding/json"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store/sql/row"
	"github.com/perdure/perdure/internal/store/sql/statement"
)

// DefinitionRows declares the rows of the table of agent definitions.
var DefinitionRows = row.New("agent_definition", 1, []row.Field[perdure.Definition]{
	row.ID("id", func(x *perdure.Definition) *uuid.UUID { return &x.ID }),
	row.Text("org_id", func(x *perdure.Definition) *string { return &x.Org }),
	row.Text("name", func(x *perdure.Definition) *string { return &x.Name }),
	row.Text("slug", func(x *perdure.Definition) *string { return &x.Slug }),
	row.OptText("description", func(x *perdure.Definition) *string { return &x.Description }),
	row.Text("system_prompt", func(x *perdure.Definition) *string { return &x.SystemPrompt }),
	row.JSON("models", func(x *perdure.Definition) *[]perdure.ModelConfig { return &x.Models }, nil),
	row.JSON("tools", func(x *perdure.Definition) *[]string { return &x.Tools }, nil),
	row.JSON("config", func(x *perdure.Definition) *perdure.AgentConfig { return &x.Config }, nil),
	row.RawText("metadata", func(x *perdure.Definition) *json.RawMessage { return &x.Metadata }),
	row.Time("created_at", func(x *perdure.Definition) *perdure.Time { return &x.CreatedAt }),
	row.Time("updated_at", func(x *perdure.Definition) *perdure.Time { return &x.UpdatedAt }),
	row.Number("version", func(x *perdure.Definition) *int64 { return &x.Version }),
	row.JSON("retention", func(x *perdure.Definition) **perdure.Retention { return &x.Retention }, row.IsNil),
	row.JSON("approvals", func(x *perdure.Definition) *perdure.ApprovalPolicy { return &x.Approvals }, func(p *perdure.ApprovalPolicy) bool { return *p == nil }),
})

var (
	// DefinitionSelect is the beginning of a query for definitions, up to its condition.
	DefinitionSelect = "SELECT " + DefinitionRows.List("d") + ", d.number FROM agent_definition d WHERE "
	// DefinitionByID selects a definition of the org ?2, or of any org if ?2 is "".
	DefinitionByID = statement.Read(DefinitionSelect + "d.id = ?1 AND (?2 = '' OR d.org_id = ?2)")
	// DefinitionBySlug selects a definition by its slug.
	DefinitionBySlug = statement.Read(DefinitionSelect + "d.org_id = ?1 AND d.slug = ?2")
)

// Definition returns the definition that a query selects; nil if there is none.
func Definition(v statement.View, query *statement.Statement, args ...any) (*perdure.Definition, error) {
	var (
		d      perdure.Definition
		number int64
	)
	found, err := v.One(query, args, append(DefinitionRows.Scan(nil, &d), &number)...)
	if err != nil || !found {
		return nil, err
	}
	return &d, nil
}
