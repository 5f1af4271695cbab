package durable_test

import (
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/face"
	"github.com/perdure/perdure/internal/face/facetest"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// house is the server of facetest, with the methods of the tests of this package.
type house struct{ *facetest.House }

func open(t *testing.T, change ...func(*face.Config)) *house {
	t.Helper()
	return &house{facetest.Open(t, change...)}
}

func play(h *house) *run { return facetest.Play(h.House) }

type (
	run     = facetest.Run
	frame   = perdure.Frame
	reply   = facetest.Reply
	stream  = facetest.Stream
	wsEvent = facetest.LogEvent
)

var (
	userText = facetest.UserText
	durable  = facetest.DurablePath
)
