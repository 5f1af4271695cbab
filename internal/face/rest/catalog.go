package rest

import (
	"context"
	"encoding/base64"
	"slices"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/face/front"
	"github.com/perdure/perdure/internal/face/operation"
	"github.com/perdure/perdure/internal/store"
)

const (
	kindsPath     = "/kinds"
	providersPath = "/providers"
	toolsPath     = "/tools"
)

func (s *server) catalogRoutes() {
	g := operation.Group{API: s.API, Access: front.Client, Tag: "Catalog"}
	operation.Get(g, kindsPath, "listKinds", "List the kinds of agents and tasks that workers have registered", s.listKinds)
	operation.Get(g, providersPath, "listProviders", "List the model providers that the program knows or a worker has registered", s.listProviders)
	operation.Get(g, toolsPath, "listTools", "List the tools that are built into the program", s.listTools)
}

type listKindsInput struct {
	operation.OrgInput
	operation.PageInput
	Type string `query:"type" enum:"agent,task" doc:"Only kinds of agents, or only kinds of tasks."`
	Tag  string `query:"tag" doc:"Only kinds with this tag."`
}

func (s *server) listKinds(ctx context.Context, in *listKindsInput) (*operation.Body[operation.List[perdure.KindInfo]], error) {
	known, err := s.readWhole().Kinds(ctx, in.Org)
	if err != nil {
		return nil, err
	}
	var kinds []perdure.KindInfo
	for _, k := range known {
		if info := kindInfo(k); in.matches(info) {
			kinds = append(kinds, info)
		}
	}
	return pageOf(kinds, in.PageInput, func(k perdure.KindInfo) (string, int) {
		return string(k.Type) + " " + k.Kind, len(k.InputSchema) + len(k.OutputSchema) + len(k.Description) + sizeOf(k.Signals)
	})
}

func (in *listKindsInput) matches(k perdure.KindInfo) bool {
	return (in.Type == "" || in.Type == string(k.Type)) && (in.Tag == "" || slices.Contains(k.Tags, in.Tag))
}

func kindInfo(k store.Kind) perdure.KindInfo {
	info := perdure.KindInfo{
		Kind: k.Spec.Kind, Type: perdure.KindTask, Description: k.Spec.Description,
		InputSchema: k.Spec.InputSchema, Tags: k.Spec.Tags, Providers: k.Spec.Providers, RegisteredAt: k.SeenAt,
	}
	if len(k.Outputs) > 0 {
		info.OutputSchema = k.Outputs[0].Schema
	}
	if k.Agent {
		info.Type = perdure.KindAgent
		for _, s := range k.Signals {
			info.Signals = append(info.Signals, s.SignalSpec)
		}
	}
	return info
}

// listProviders lists the model providers: first those that are built into the program, in the
// program's order, and then those that only workers have registered.
func (s *server) listProviders(ctx context.Context, in *listInput) (*operation.Body[operation.List[perdure.ProviderInfo]], error) {
	known, err := s.readWhole().Kinds(ctx, in.Org)
	if err != nil {
		return nil, err
	}
	var registered []string
	for _, k := range known {
		if k.Agent {
			registered = append(registered, k.Spec.Providers...)
		}
	}
	slices.Sort(registered)
	registered = slices.Compact(registered)
	all := slices.Clone(s.Catalog.Providers)
	for i := range all {
		at, found := slices.BinarySearch(registered, all[i].Name)
		if all[i].Registered = found; found {
			registered = slices.Delete(registered, at, at+1)
		}
	}
	for _, name := range registered {
		all = append(all, perdure.ProviderInfo{Name: name, Registered: true})
	}
	return pageOf(all, in.PageInput, func(p perdure.ProviderInfo) (string, int) { return p.Name, 0 })
}

func (s *server) listTools(ctx context.Context, in *listInput) (*operation.Body[operation.List[perdure.ToolInfo]], error) {
	known, err := s.readWhole().Kinds(ctx, in.Org)
	if err != nil {
		return nil, err
	}
	all := slices.Clone(s.Catalog.Tools)
	for i := range all {
		all[i].Registered = slices.ContainsFunc(known, func(k store.Kind) bool { return !k.Agent && k.Spec.Kind == all[i].Name })
	}
	return pageOf(all, in.PageInput, func(t perdure.ToolInfo) (string, int) { return t.Name, len(t.InputSchema) })
}

// pageOf returns one page of the items in the parameter `all`. The function `about` returns the
// name of an item, which must be unique in the list, and the size of the item's contents in bytes.
// The cursor is the encoded name of the last item of a page. A page ends early at a size of about
// store.PageBytes.
func pageOf[T any](all []T, in operation.PageInput, about func(T) (name string, size int)) (*operation.Body[operation.List[T]], error) {
	from := 0
	if in.Cursor != "" {
		after, err := base64.RawURLEncoding.DecodeString(in.Cursor)
		from = 1 + slices.IndexFunc(all, func(item T) bool {
			name, _ := about(item)
			return name == string(after)
		})
		if err != nil || from == 0 {
			return nil, perdure.FieldErrorf("cursor", "is not a cursor of this list; leave it out to read from the start")
		}
	}
	to, bytes := from, 0
	for ; to < len(all) && to < from+in.Limit && bytes < store.PageBytes; to++ {
		_, size := about(all[to])
		bytes += size
	}
	next := ""
	if to < len(all) {
		name, _ := about(all[to-1])
		next = base64.RawURLEncoding.EncodeToString([]byte(name))
	}
	return operation.ListOf(all[from:to:to], next), nil
}

func sizeOf(signals []perdure.SignalSpec) (n int) {
	for _, s := range signals {
		n += s.Size()
	}
	return n
}
