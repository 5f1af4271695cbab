// Package pbconvtest fills the fields of values of package perdure with random data, for tests of
// conversions. If a conversion omits a field, such a test finds the difference.
package pbconvtest

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// words are valid values of the string types in package perdure, by type.
var words = map[reflect.Type][]string{
	typeOf[perdure.Status]():           {"PENDING", "RUNNING", "WAITING", "CANCELLING", "COMPLETED", "FAILED", "CANCELLED"},
	typeOf[perdure.PersistenceMode]():  {"REMOTE", "LOCAL"},
	typeOf[perdure.WakeReason]():       {"start", "task", "signal", "question", "timer", "lost", "returned"},
	typeOf[perdure.EntryType]():        {"message", "llm_call", "injection", "compaction"},
	typeOf[perdure.Role]():             {"system", "user", "assistant", "tool_result"},
	typeOf[perdure.SignalState]():      {"pending", "taken", "consumed"},
	typeOf[perdure.TaskStatus]():       {"PENDING", "RUNNING", "COMPLETED", "FAILED", "INTERRUPTED", "CANCELLED"},
	typeOf[perdure.OnLost]():           {"retry", "report"},
	typeOf[perdure.CompactionReason](): {"automatic", "context_length", "manual", "input"},
	typeOf[perdure.TaskCondition]():    {"ended", "succeeded", "failed"},
	typeOf[perdure.EventType]():        {"token", "thinking", "terminal", "data", "error", "agent.started", "task.completed"},
	typeOf[perdure.BlockReason]():      {"done", "superseded", "truncated"},
	typeOf[perdure.OutcomeKind]():      {"suspend", "complete", "fail", "cancelled"},
	typeOf[perdure.ParkedState]():      {"keep", "moved", "ended"},
	typeOf[perdure.Code]():             {"invalid_argument", "lease_lost", "conflict", "crash_loop", "a_code_of_the_application"},
	typeOf[perdure.QuestionKind]():     {"approval", "input", "choice", "of_an_agent"},
	typeOf[perdure.QuestionStatus]():   {"open", "answered", "expired", "withdrawn"},
	typeOf[perdure.Verdict]():          {"approve", "deny", "answer"},
	typeOf[perdure.OnExpiry]():         {"fail", "deny", "default"},
	typeOf[perdure.EditRight]():        {"client", "approver"},
	typeOf[perdure.ApprovalAction]():   {"allow", "ask", "deny"},
}

func typeOf[T any]() reflect.Type { return reflect.TypeFor[T]() }

// maxDepth limits the depth of recursive types, such as waits.
const maxDepth = 8

// Filler creates values with random fields from Rand. If Full is set, it sets every field.
// Otherwise it leaves about a third of the fields, pointers and lists zero.
type Filler struct {
	Rand *rand.Rand
	Full bool
}

// Fill returns a random value of type T. It panics if T contains a type that it cannot fill, so that a
// test fails when such a type is added.
func Fill[T any](f Filler) T {
	var v T
	f.fill(reflect.ValueOf(&v).Elem(), 0)
	return v
}

func (f Filler) skip() bool { return !f.Full && f.Rand.IntN(3) == 0 }

func (f Filler) fill(v reflect.Value, depth int) {
	if f.known(v) || v.Kind() != reflect.Struct && f.skip() {
		return
	}
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(f.Full || f.Rand.IntN(2) == 0)
	case reflect.Int, reflect.Int64:
		v.SetInt(1 + f.Rand.Int64N(1<<40))
	case reflect.String:
		v.SetString(f.word(v.Type()))
	case reflect.Pointer:
		if depth < maxDepth {
			v.Set(reflect.New(v.Type().Elem()))
			f.fill(v.Elem(), depth+1)
		}
	case reflect.Slice:
		f.fillSlice(v, depth)
	case reflect.Struct:
		for i := range v.NumField() {
			// Only clients of the HTTP API receive a field with this tag; messages omit it.
			if v.Type().Field(i).Tag.Get("wire") == "-" {
				continue
			}
			f.fill(v.Field(i), depth+1)
			if n := v.Field(i); v.Type().Field(i).Name == "Attempt" { // an attempt number has 31 bits
				n.SetInt(n.Int() & math.MaxInt32)
			}
		}
	default:
		panic(fmt.Sprintf("cannot fill a %s", v.Type()))
	}
}

func (f Filler) fillSlice(v reflect.Value, depth int) {
	if depth >= maxDepth {
		return
	}
	v.Set(reflect.MakeSlice(v.Type(), 2, 2))
	for i := range 2 {
		f.fill(v.Index(i), depth+1)
	}
}

// known fills a value of a type that needs a special form, such as an id or a time. It reports
// whether v has such a type. Unless f.Full is set, it leaves some JSON values and maps zero. It
// never leaves other values zero, because they may be elements of a list.
func (f Filler) known(v reflect.Value) bool {
	switch v.Interface().(type) {
	case uuid.UUID:
		v.Set(reflect.ValueOf(f.UUID()))
	case perdure.Hash:
		var h perdure.Hash
		for i := range h {
			h[i] = byte(1 + f.Rand.IntN(255))
		}
		v.Set(reflect.ValueOf(h))
	case perdure.Time:
		v.Set(reflect.ValueOf(perdure.AtMilli(1 + f.Rand.Int64N(1<<41))))
	case perdure.Features:
		v.SetInt(int64(perdure.AllFeatures))
	case time.Duration:
		v.SetInt(1 + f.Rand.Int64N(int64(time.Hour)))
	case json.RawMessage:
		if !f.skip() {
			v.Set(reflect.ValueOf(json.RawMessage(fmt.Sprintf(`{"n":%d}`, f.Rand.IntN(1000)))))
		}
	case map[string]any:
		if !f.skip() {
			v.Set(reflect.ValueOf(map[string]any{"zone": "a", "cores": float64(f.Rand.IntN(64))}))
		}
	case map[uuid.UUID]uuid.UUID:
		v.Set(reflect.ValueOf(map[uuid.UUID]uuid.UUID{f.UUID(): f.UUID(), f.UUID(): f.UUID()}))
	default:
		// Messages omit the cause of an error, so it stays nil.
		return v.Kind() == reflect.Interface && v.Type() == typeOf[error]()
	}
	return true
}

// UUID returns a random UUID.
func (f Filler) UUID() uuid.UUID {
	var id uuid.UUID
	for i := range id {
		id[i] = byte(1 + f.Rand.IntN(255))
	}
	return id
}

func (f Filler) word(t reflect.Type) string {
	if t == typeOf[string]() {
		return fmt.Sprintf("tëxt-%d", f.Rand.IntN(1_000_000))
	}
	list, ok := words[t]
	if !ok {
		panic(fmt.Sprintf("no words for %s", t))
	}
	return list[f.Rand.IntN(len(list))]
}
