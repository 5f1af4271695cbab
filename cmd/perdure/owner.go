package main

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/disk"
)

// ownerKind says what the process that owns a data directory is there for.
type ownerKind string

const (
	ownerDev    ownerKind = "dev"    // server and worker for everybody
	ownerServer ownerKind = "server" // server; its workers are elsewhere
	ownerRun    ownerKind = "run"    // a run, with a worker for that alone
	ownerLook   ownerKind = "look"   // a command that ends at once
)

// owner is what the process that owns a data directory tells commands that
// become its clients.
type owner struct {
	Kind ownerKind `json:"kind"`
	// GRPC is where workers connect; "" if nowhere.
	GRPC string `json:"grpc"`
	// Certificate is the file of the one that is served there; "" for plain text.
	Certificate string `json:"certificate,omitempty"`
	// Workspace is the root of dev's worker, absolute; "" of others.
	Workspace string `json:"workspace,omitempty"`
}

func ownerFile(data string) string { return filepath.Join(data, "owner.json") }

// write makes the file whole or not at all: others read it at any time.
func (o owner) write(data string) error {
	listData(data)
	raw, err := json.Marshal(o)
	if err != nil {
		return err
	}
	return disk.WriteFile(ownerFile(data), append(raw, '\n'))
}

// forgetOwner removes the file. One that stays is written over by the next
// owner before it answers anybody.
func forgetOwner(data string) { _ = os.Remove(ownerFile(data)) }

// readOwner reads what the owner, which answers, has written. Without the file
// it is about to end.
func readOwner(data string) (*owner, error) {
	raw, err := os.ReadFile(ownerFile(data))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, perdure.Errorf(perdure.Unavailable, "it is starting or ending")
	}
	if err != nil {
		return nil, err
	}
	o := &owner{}
	if err := json.Unmarshal(raw, o); err != nil {
		return nil, perdure.Errorf(perdure.Unavailable, "it is starting or ending")
	}
	return o, nil
}
