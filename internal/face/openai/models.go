package openai

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/perdure/perdure"
)

// Model is an element of the API's list of models: an agent definition, or a model of a provider.
type Model struct {
	ID      string `json:"id"`
	Object  string `json:"object"`
	Created int64  `json:"created"`
	OwnedBy string `json:"owned_by"`
}

func definitionModel(d *perdure.Definition, org string) Model {
	return Model{ID: d.Slug, Object: "model", Created: d.CreatedAt.Unix(), OwnedBy: org}
}

// models lists the agent definitions of the org, and the models of providers that they use.
func (a *API) models(w http.ResponseWriter, r *http.Request) {
	all, err := a.allModels(r.Context(), orgOf(r))
	if err != nil {
		a.fail(w, r, err)
		return
	}
	writeJSON(w, http.StatusOK, map[string]any{"object": "list", "data": all})
}

func (a *API) allModels(ctx context.Context, org string) ([]Model, error) {
	definitions, named := []Model{}, map[string]Model{}
	for cursor := ""; ; {
		page, err := a.stored().Definitions(ctx, org, cursor, 1000)
		if err != nil {
			return nil, err
		}
		for _, d := range page.Items {
			definitions = append(definitions, definitionModel(d, org))
			for _, m := range d.Models {
				one := Model{ID: m.String(), Object: "model", Created: d.CreatedAt.Unix(), OwnedBy: m.Provider}
				if known, ok := named[one.ID]; !ok || one.Created < known.Created {
					named[one.ID] = one
				}
			}
		}
		if cursor = page.Next; cursor == "" {
			break
		}
	}
	for _, m := range named {
		definitions = append(definitions, m)
	}
	slices.SortFunc(definitions, func(a, b Model) int { return strings.Compare(a.ID, b.ID) })
	return definitions, nil
}

// model responds with one model: a definition by slug or id, or a model of a provider that the
// org's workers can call. The server does not ask the provider whether the model exists.
func (a *API) model(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("id")
	d, err := a.definition(r.Context(), orgOf(r), name)
	if err == nil && d != nil {
		m := definitionModel(d, orgOf(r))
		m.ID = name
		writeJSON(w, http.StatusOK, m)
		return
	}
	if err == nil {
		_, err = a.agent(r.Context(), orgOf(r), name)
	}
	if err != nil {
		e := a.errorOf(r, err)
		if e.Status == http.StatusBadRequest {
			e.Status = http.StatusNotFound
		}
		e.WriteTo(w)
		return
	}
	provider, _, _ := strings.Cut(name, "/")
	writeJSON(w, http.StatusOK, Model{ID: name, Object: "model", OwnedBy: provider})
}
