package server_test

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/perdure/perdure/internal/longtest"
	"google.golang.org/grpc/codes"
	grpcstatus "google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"
)

// spots returns functions that each mutate one member of a message or of a nested message.
func spots(m protoreflect.Message) (all []func(forger)) {
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		f := fields.Get(i)
		if f.Name() == "wait" && f.Message() != nil && f.Message().FullName() == "google.protobuf.Duration" {
			continue // a poll would wait
		}
		all = append(all, func(by forger) { by.mutilate(m, f) })
		switch {
		case !m.Has(f), f.IsMap(), f.Kind() != protoreflect.MessageKind:
		case f.IsList():
			for n := range m.Get(f).List().Len() {
				all = append(all, spots(m.Get(f).List().Get(n).Message())...)
			}
		default:
			all = append(all, spots(m.Get(f).Message())...)
		}
	}
	return all
}

// mutilate sets a member to an invalid or unusual value, or clears it.
func (f forger) mutilate(m protoreflect.Message, field protoreflect.FieldDescriptor) {
	if f.IntN(4) == 0 || field.IsMap() {
		m.Clear(field)
		return
	}
	if field.IsList() {
		list := m.Mutable(field).List()
		for range 1 + f.IntN(3) {
			if field.Kind() == protoreflect.MessageKind {
				list.AppendMutable()
			} else {
				list.Append(f.odd(field))
			}
		}
		return
	}
	if field.Kind() == protoreflect.MessageKind {
		m.Set(field, protoreflect.ValueOfMessage(m.NewField(field).Message()))
		return
	}
	m.Set(field, f.odd(field))
}

func (f forger) odd(field protoreflect.FieldDescriptor) protoreflect.Value {
	number := []int64{-1, 0, 99, math.MaxInt32, math.MinInt32, math.MaxInt64, math.MinInt64}[f.IntN(7)]
	switch field.Kind() {
	case protoreflect.BytesKind:
		return protoreflect.ValueOfBytes([]byte([]string{"", "x", "0123456789abcdef", "0123456789abcdefg", strings.Repeat("x", 100), "\xff\x00", "{", "[[["}[f.IntN(8)]))
	case protoreflect.StringKind:
		return protoreflect.ValueOfString([]string{"", "\x00", "a b", "**", ".", strings.Repeat("s", 5000), "local:", "é"}[f.IntN(8)])
	case protoreflect.EnumKind:
		return protoreflect.ValueOfEnum(protoreflect.EnumNumber(int32(number)))
	case protoreflect.BoolKind:
		return protoreflect.ValueOfBool(f.IntN(2) == 0)
	case protoreflect.Int32Kind, protoreflect.Sint32Kind, protoreflect.Sfixed32Kind:
		return protoreflect.ValueOfInt32(int32(number))
	case protoreflect.Uint32Kind, protoreflect.Fixed32Kind:
		return protoreflect.ValueOfUint32(uint32(number))
	case protoreflect.Uint64Kind, protoreflect.Fixed64Kind:
		return protoreflect.ValueOfUint64(uint64(number))
	case protoreflect.DoubleKind:
		return protoreflect.ValueOfFloat64(math.NaN())
	case protoreflect.FloatKind:
		return protoreflect.ValueOfFloat32(float32(math.Inf(1)))
	}
	return protoreflect.ValueOfInt64(number)
}

// TestMutilatedCalls checks that calls with missing or invalid members cause no internal or unknown
// error and no timeout. Examples are unknown enums, ids of the wrong length, and numbers out of range.
// The server is ready afterwards.
func TestMutilatedCalls(t *testing.T) {
	longtest.Skip(t, "seconds")
	w := newWorld(t)
	f := newForger(t)
	conn := connect(t, w.Server)
	all := methods(t)
	names := slices.Sorted(maps.Keys(all))
	try := func(name string, requests []proto.Message) {
		t.Helper()
		_, err := w.call(conn, w.keys["acme worker"], all[name], requests...)
		if err != nil && strings.Contains(err.Error(), "has no kind that this program knows") {
			return // a wait of a type that only newer programs know, or an empty wait
		}
		switch code := grpcstatus.Code(err); code {
		case codes.Internal, codes.Unknown, codes.DataLoss, codes.Unimplemented, codes.DeadlineExceeded:
			var sent []string
			for _, r := range requests {
				sent = append(sent, prototext.Format(r))
			}
			t.Errorf("%s: %v, for\n%s", name, err, strings.Join(sent, "---\n"))
		}
	}
	for _, name := range names {
		if all[name].IsStreamingClient() {
			try(name, nil)
		}
		try(name, []proto.Message{dynamicpb.NewMessage(all[name].Input())})
	}
	for range 400 {
		name := names[f.IntN(len(names))]
		requests := w.acmeFiller().requests(all[name])
		for range 1 + f.IntN(3) {
			at := spots(requests[f.IntN(len(requests))].ProtoReflect())
			at[f.IntN(len(at))](f)
		}
		try(name, requests)
	}
	if a := w.ask(w.keys["acme admin"], "GET", "/readyz", ""); a.status != 200 {
		t.Errorf("the server is %d %s", a.status, fmt.Sprint(a.body))
	}
}
