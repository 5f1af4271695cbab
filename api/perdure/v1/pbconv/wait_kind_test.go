package pbconv

import (
	"reflect"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	perdurev1 "github.com/perdure/perdure/api/perdure/v1"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

// TestEveryKindOfWaitTravels checks that a wait of each kind is unchanged after conversion to a
// message and back.
func TestEveryKindOfWaitTravels(t *testing.T) {
	task, timer := perdure.WaitTask(uuid.New()), perdure.WaitUntil(perdure.AtMilli(1_000_000))
	waits := map[perdure.WaitKind]perdure.Wait{
		perdure.WaitKindAny: perdure.WaitAny(task, timer), perdure.WaitKindAll: perdure.WaitAll(task, timer),
		perdure.WaitKindSignal: perdure.WaitSignal("a.*"), perdure.WaitKindTask: task, perdure.WaitKindTimer: timer,
		perdure.WaitKindQuestion: perdure.WaitQuestion(uuid.New()),
		perdure.WaitKindAfter:    perdure.WaitAfter("sleep", time.Second),
	}
	for _, kind := range perdure.WaitKinds() {
		w, ok := waits[kind]
		if !ok {
			t.Errorf("this test has no wait of the kind %s", kind)
			continue
		}
		raw, err := proto.Marshal(waitToProto(&w))
		if err != nil {
			t.Fatal(err)
		}
		if got := readWait(t, raw); got.Kind() != kind || !reflect.DeepEqual(got, w) {
			t.Errorf("%s arrives as %+v", kind, got)
		}
	}
}

// TestANewerKindOfWaitArrivesAsUnknown checks that a message with only an unknown field becomes a
// wait that Check refuses with unsupported. A newer program sends such a message for a kind of
// wait that this program does not know.
func TestANewerKindOfWaitArrivesAsUnknown(t *testing.T) {
	newer := protowire.AppendString(protowire.AppendTag(nil, 1000, protowire.BytesType), "q1")
	if err := readWait(t, newer).Check(); !perdure.IsCode(err, perdure.Unsupported) {
		t.Errorf("it is checked with %v", err)
	}
}

func readWait(t *testing.T, raw []byte) perdure.Wait {
	t.Helper()
	var m perdurev1.Wait
	if err := proto.Unmarshal(raw, &m); err != nil {
		t.Fatal(err)
	}
	var d decoder
	w := d.wait(&m)
	if d.err != nil {
		t.Fatal(d.err)
	}
	return *w
}
