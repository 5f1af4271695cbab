package sandbox

import (
	"slices"
	"testing"
)

func TestMountsHaveTheirKind(t *testing.T) {
	mounts, err := Mounts()
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(mounts, func(m Mount) bool { return m.Point == "/proc" && m.Kind == "proc" }) {
		t.Errorf("no /proc in %+v", mounts)
	}
}
