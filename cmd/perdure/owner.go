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

// ownerKind is the kind of process that owns a data directory.
type ownerKind string

const (
	ownerDev    ownerKind = "dev"    // server and worker for all clients
	ownerServer ownerKind = "server" // server; its workers are other processes
	ownerRun    ownerKind = "run"    // a run, with a worker only for it
	ownerLook   ownerKind = "look"   // a command that ends soon
)

// owner is the information about a data directory's owner that its clients read.
type owner struct {
	Kind ownerKind `json:"kind"`
	// GRPC is the address for workers; "" if there is none.
	GRPC string `json:"grpc"`
	// Certificate is the file with the certificate of that address; "" for plain text.
	Certificate string `json:"certificate,omitempty"`
	// Workspace is the absolute root of dev's worker; "" for other kinds.
	Workspace string `json:"workspace,omitempty"`
}

func ownerFile(data string) string { return filepath.Join(data, "owner.json") }

// write writes the file atomically, because other processes read it at any time.
func (o owner) write(data string) error {
	listData(data)
	raw, err := json.Marshal(o)
	if err != nil {
		return err
	}
	return disk.WriteFile(ownerFile(data), append(raw, '\n'))
}

// forgetOwner removes the file. The next owner overwrites a file that remains before it accepts
// clients.
func forgetOwner(data string) { _ = os.Remove(ownerFile(data)) }

// readOwner reads the file of an owner that is running. Without the file, the owner is about to
// end.
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
