package relational

import (
	"encoding/json"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// definitions declares the rows of the table of agent definitions.
var definitions = newRows("agent_definition", 1, []field[perdure.Definition]{
	idField("id", func(x *perdure.Definition) *uuid.UUID { return &x.ID }),
	textField("org_id", func(x *perdure.Definition) *string { return &x.Org }),
	textField("name", func(x *perdure.Definition) *string { return &x.Name }),
	textField("slug", func(x *perdure.Definition) *string { return &x.Slug }),
	optTextField("description", func(x *perdure.Definition) *string { return &x.Description }),
	textField("system_prompt", func(x *perdure.Definition) *string { return &x.SystemPrompt }),
	jsonField("models", func(x *perdure.Definition) *[]perdure.ModelConfig { return &x.Models }, nil),
	jsonField("tools", func(x *perdure.Definition) *[]string { return &x.Tools }, nil),
	jsonField("config", func(x *perdure.Definition) *perdure.AgentConfig { return &x.Config }, nil),
	rawTextField("metadata", func(x *perdure.Definition) *json.RawMessage { return &x.Metadata }),
	timeField("created_at", func(x *perdure.Definition) *perdure.Time { return &x.CreatedAt }),
	timeField("updated_at", func(x *perdure.Definition) *perdure.Time { return &x.UpdatedAt }),
	numberField("version", func(x *perdure.Definition) *int64 { return &x.Version }),
	jsonField("retention", func(x *perdure.Definition) **perdure.Retention { return &x.Retention }, isNil),
})

var (
	upsertDefinition = declare(definitions.upsertStatement())
	definitionSelect = "SELECT " + definitions.list("d") + ", d.number FROM agent_definition d WHERE "
	definitionByID   = read(definitionSelect + "d.id = ?1 AND (?2 = '' OR d.org_id = ?2)")
	definitionBySlug = read(definitionSelect + "d.org_id = ?1 AND d.slug = ?2")
	definitionsFrom  = read(definitionSelect + "d.org_id = ?1 AND d.number > ?2 ORDER BY d.number LIMIT ?3")
)

func putDefinition(v view, d *perdure.Definition) error {
	return definitions.write(v, upsertDefinition, d)
}

func loadDefinition(v view, query *Statement, args ...any) (*perdure.Definition, error) {
	var (
		d      perdure.Definition
		number int64
	)
	found, err := v.one(query, args, append(definitions.scan(nil, &d), &number)...)
	if err != nil || !found {
		return nil, err
	}
	return &d, nil
}
