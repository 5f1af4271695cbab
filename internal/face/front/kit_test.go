package front_test

import (
	"testing"

	"github.com/perdure/perdure/internal/face"
	"github.com/perdure/perdure/internal/face/facetest"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// testServer is the server of package facetest with helper methods for the tests of this package.
type testServer struct{ *facetest.Server }

func open(t *testing.T, change ...func(*face.Config)) *testServer {
	t.Helper()
	return &testServer{facetest.Open(t, change...)}
}

type (
	reply = facetest.Reply
)

const (
	models = facetest.Models
)

var (
	userText      = facetest.UserText
	assistantText = facetest.AssistantText
)
