package rest

import (
	"strings"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/face/front"
)

// ExecutionFilter contains the query parameters that filter a list of executions or select those of
// a bulk action. It is exported because huma ignores unexported embedded structs.
type ExecutionFilter struct {
	Status        []string `query:"status,explode" json:"status,omitempty" doc:"Any of these, in any case. A query repeats the parameter or separates them by commas."`
	Kind          string   `query:"kind" json:"kind,omitempty"`
	Tag           string   `query:"tag" json:"tag,omitempty" doc:"Executions of the kinds that have this tag now."`
	DefinitionID  string   `query:"agentDefinitionId" json:"agentDefinitionId,omitempty"`
	CreatedAfter  string   `query:"createdAfter" json:"createdAfter,omitempty" doc:"RFC 3339; exclusive."`
	CreatedBefore string   `query:"createdBefore" json:"createdBefore,omitempty" doc:"RFC 3339; exclusive."`
	FailedTurn    bool     `query:"failedTurn" json:"failedTurn,omitempty" doc:"true: conversations whose newest turn has failed, which wait for the signal retry. false does not filter."`
	Query         string   `query:"q" json:"q,omitempty" doc:"In the id, the kind or the first 4 KiB of the input."`
}

// parsed returns the filter with parsed values, but without the filters by metadata. In errors,
// the names of members begin with the parameter `field`.
func (in *ExecutionFilter) parsed(field string) (perdure.BulkFilter, error) {
	f := perdure.BulkFilter{Kind: in.Kind, Tag: in.Tag, FailedTurn: in.FailedTurn, Query: in.Query}
	for _, given := range in.Status {
		for name := range strings.SplitSeq(given, ",") {
			if name = strings.TrimSpace(name); name == "" {
				continue
			}
			status, err := perdure.ParseStatus(name)
			if err != nil {
				return f, err
			}
			f.Status = append(f.Status, status)
		}
	}
	if in.DefinitionID != "" {
		id, err := front.ParseID("agent definition", in.DefinitionID)
		if err != nil {
			return f, err
		}
		f.DefinitionID = &id
	}
	var err error
	if f.CreatedAfter, err = timeOf(field+"createdAfter", in.CreatedAfter); err != nil {
		return f, err
	}
	f.CreatedBefore, err = timeOf(field+"createdBefore", in.CreatedBefore)
	return f, err
}

func timeOf(field, text string) (*perdure.Time, error) {
	if text == "" {
		return nil, nil
	}
	var t perdure.Time
	if err := t.UnmarshalText([]byte(text)); err != nil {
		return nil, perdure.FieldErrorf(field, "%v", err)
	}
	return &t, nil
}
