package sandbox

import "testing"

func TestChildThatStillSeesTheDataDirectoryFails(t *testing.T) {
	data := t.TempDir()
	at, err := IdentityAt(data)
	if err != nil {
		t.Fatal(err)
	}
	s := Spec{Policy: Policy{Data: []string{data}}, HasData: true, Hidden: []Identity{{1, 1}}}
	if err := s.verify(); err != nil {
		t.Errorf("another folder is taken for the data directory: %v", err)
	}
	s.Hidden[0] = at
	if err := s.verify(); err == nil {
		t.Error("the data directory can be read, and verify says nothing")
	}
}
