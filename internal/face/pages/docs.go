package pages

import (
	"bytes"
	"encoding/json"
	"fmt"
	"html/template"
	"maps"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/face/operation"
	"github.com/perdure/perdure/internal/face/problem"
)

// docsPage is the web page with the OpenAPI document. It loads nothing from other servers.
var docsPage = template.Must(template.New("docs").Parse(`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>{{.Title}} API</title><style>` + style + `</style></head><body>
<h1>{{.Title}} API <small>{{.Version}}</small></h1>
<p>{{.Description}} The same for machines: <a href="/openapi.json">openapi.json</a>.</p>
<nav><ul>{{range .Operations}}<li><a href="#{{.ID}}"><b>{{.Method}}</b> <code>{{.Path}}</code></a> {{.Summary}}</li>{{end}}</ul></nav>
{{range .Operations}}<section id="{{.ID}}"><h2><b>{{.Method}}</b> <code>{{.Path}}</code></h2><p>{{.Summary}}</p>
{{if .Params}}<table><tr><th>Parameter<th>In<th>Type<th></tr>
{{range .Params}}<tr><td><code>{{.Name}}</code>{{if .Required}} *{{end}}<td>{{.In}}<td>{{.Type}}<td>{{.Doc}}</tr>{{end}}</table>{{end}}
{{if .Body}}<p>Body: {{.Body}}</p>{{end}}
<p>Answers: {{range .Answers}}<b>{{.Status}}</b> {{.Text}} {{.Schema}} &nbsp; {{end}}</p></section>{{end}}
<h1>Errors</h1><p>Every error is <code>application/problem+json</code> (RFC 9457): {{.Problem}}.</p>
<table><tr><th>Code<th>Status<th></tr>{{range .Codes}}<tr id="{{.Code}}"><td><code>{{.Code}}</code><td>{{.Status}}<td>{{.Title}}</tr>{{end}}</table>
<h1>Schemas</h1>{{range .Schemas}}<section id="schema-{{.Name}}"><h2>{{.Name}}</h2>
<table><tr><th>Member<th>Type<th></tr>{{range .Members}}<tr><td><code>{{.Name}}</code>{{if .Required}} *{{end}}<td>{{.Type}}<td>{{.Doc}}</tr>{{end}}</table></section>{{end}}
</body></html>
`))

const style = `:root{color-scheme:light dark}body{font:16px/1.5 system-ui,sans-serif;max-width:70rem;margin:2rem auto;padding:0 1rem}
code{font-size:.95em}h2{font-size:1.1rem;margin-top:2rem}table{border-collapse:collapse;width:100%}
td,th{text-align:left;border-bottom:1px solid #8884;padding:.2rem .6rem .2rem 0;vertical-align:top}ul{list-style:none;padding:0}`

type docsParam struct {
	Name, In, Doc string
	Type          template.HTML
	Required      bool
}

type docsAnswer struct {
	Status, Text string
	Schema       template.HTML
}

type docsOperation struct {
	ID, Method, Path, Summary string
	Params                    []docsParam
	Body                      template.HTML
	Answers                   []docsAnswer
}

type docsCode struct {
	Code   perdure.Code
	Status int
	Title  string
}

type docsSchema struct {
	Name    string
	Members []docsParam
}

func renderDocs(doc *huma.OpenAPI) ([]byte, error) {
	page := struct {
		Title, Version, Description string
		Operations                  []docsOperation
		Problem                     template.HTML
		Codes                       []docsCode
		Schemas                     []docsSchema
	}{
		Title: doc.Info.Title, Version: doc.Info.Version, Description: doc.Info.Description,
		Operations: docsOperations(doc), Problem: typeOf(operation.ProblemResponse.Content["application/problem+json"].Schema),
		Schemas: docsSchemas(doc.Components.Schemas.Map()),
	}
	for _, c := range problem.Codes {
		page.Codes = append(page.Codes, docsCode(c))
	}
	var b bytes.Buffer
	if err := docsPage.Execute(&b, page); err != nil {
		return nil, fmt.Errorf("the page of the API does not render: %w", err)
	}
	return b.Bytes(), nil
}

func docsOperations(doc *huma.OpenAPI) []docsOperation {
	var all []docsOperation
	for _, path := range slices.Sorted(maps.Keys(doc.Paths)) {
		item := doc.Paths[path]
		for _, op := range []*huma.Operation{item.Get, item.Post, item.Put, item.Delete} {
			if op != nil {
				all = append(all, docsOf(op))
			}
		}
	}
	return all
}

func docsOf(op *huma.Operation) docsOperation {
	d := docsOperation{ID: op.OperationID, Method: op.Method, Path: op.Path, Summary: op.Summary}
	for _, p := range op.Parameters {
		d.Params = append(d.Params, docsParam{Name: p.Name, In: p.In, Doc: p.Description, Type: typeOf(p.Schema), Required: p.Required})
	}
	if op.RequestBody != nil {
		d.Body = contentOf(op.RequestBody.Content)
	}
	for _, status := range slices.Sorted(maps.Keys(op.Responses)) {
		r := op.Responses[status]
		d.Answers = append(d.Answers, docsAnswer{status, r.Description, contentOf(r.Content)})
	}
	return d
}

func contentOf(content map[string]*huma.MediaType) template.HTML {
	for _, media := range content {
		return typeOf(media.Schema)
	}
	return ""
}

func docsSchemas(schemas map[string]*huma.Schema) []docsSchema {
	var all []docsSchema
	for _, name := range slices.Sorted(maps.Keys(schemas)) {
		s := docsSchema{Name: name}
		for _, member := range slices.Sorted(maps.Keys(schemas[name].Properties)) {
			p := schemas[name].Properties[member]
			s.Members = append(s.Members, docsParam{
				Name: member, Doc: p.Description, Type: typeOf(p), Required: slices.Contains(schemas[name].Required, member),
			})
		}
		all = append(all, s)
	}
	return all
}

// typeOf describes the type of a schema in a few words. For a named schema it returns a link.
func typeOf(s *huma.Schema) template.HTML {
	switch {
	case s == nil:
		return ""
	case s.Ref != "":
		name := template.HTMLEscapeString(strings.TrimPrefix(s.Ref, operation.SchemaPrefix))
		return template.HTML(`<a href="#schema-` + name + `">` + name + `</a>`)
	case len(s.AnyOf) > 0:
		return typeOf(s.AnyOf[0]) + " or null"
	case s.Type == huma.TypeArray:
		return "list of " + typeOf(s.Items)
	case s.Type == "":
		return "any JSON"
	}
	text := s.Type
	if s.Format != "" {
		text += " (" + s.Format + ")"
	}
	if len(s.Enum) > 0 {
		raw, err := json.Marshal(s.Enum)
		if err == nil {
			text += " " + string(raw)
		}
	}
	if s.Nullable {
		text += " or null"
	}
	return template.HTML(template.HTMLEscapeString(text))
}
