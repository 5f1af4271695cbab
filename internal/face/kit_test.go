package face_test

import (
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/face"
	"github.com/perdure/perdure/internal/face/facetest"
	"github.com/perdure/perdure/internal/store"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// testServer is the server of package facetest with helper methods for the tests of this package.
type testServer struct{ *facetest.Server }

func open(t *testing.T, change ...func(*face.Config)) *testServer {
	t.Helper()
	return &testServer{facetest.Open(t, change...)}
}

func openOver(t *testing.T, st store.Store, change ...func(*face.Config)) *testServer {
	t.Helper()
	return &testServer{facetest.OpenOver(t, st, change...)}
}

func play(h *testServer) *run { return facetest.Play(h.Server) }

func talk(h *testServer) *run { return facetest.Talk(h.Server) }

type (
	run         = facetest.Run
	frame       = perdure.Frame
	reply       = facetest.Reply
	sseEvent    = facetest.Event
	stream      = facetest.Stream
	wsClient    = facetest.Socket
	wsEvent     = facetest.LogEvent
	page[T any] = facetest.Page[T]
)

const (
	org    = facetest.Org
	models = facetest.Models
)

var (
	userText      = facetest.UserText
	assistantText = facetest.AssistantText
	streamOf      = facetest.StreamOf
	show          = facetest.Show
	durable       = facetest.DurablePath
	posOf         = facetest.PosOf
	pingAlways    = facetest.PingAlways
)
