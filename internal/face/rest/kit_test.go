package rest_test

import (
	"testing"

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
	run         = facetest.Run
	page[T any] = facetest.Page[T]
)

const (
	org    = facetest.Org
	models = facetest.Models
)

var (
	userText      = facetest.UserText
	assistantText = facetest.AssistantText
	names         = facetest.Names
	sorted        = facetest.Sorted
	items         = facetest.Items
)
