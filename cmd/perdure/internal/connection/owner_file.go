package connection

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/cmd/perdure/internal/setup"
	"github.com/perdure/perdure/internal/disk"
)

// OwnerKind is the kind of process that owns a data directory.
type OwnerKind string

const (
	OwnerDev     OwnerKind = "dev"    // server and worker for all clients
	OwnerServer  OwnerKind = "server" // server; its workers are other processes
	OwnerRun     OwnerKind = "run"    // a run, with a worker only for it
	OwnerRequest OwnerKind = "look"   // a command that ends soon
)

// Owner is the information about a data directory's owner that its clients read.
type Owner struct {
	Kind OwnerKind `json:"kind"`
	// GRPC is the address for workers; "" if there is none.
	GRPC string `json:"grpc"`
	// Certificate is the file with the certificate of the address in GRPC; "" for plain text.
	Certificate string `json:"certificate,omitempty"`
	// Workspace is the absolute path of the workspace of the worker of perdure dev; "" for other
	// kinds.
	Workspace string `json:"workspace,omitempty"`
}

func ownerFile(data string) string { return filepath.Join(data, "owner.json") }

// Write writes the owner's file atomically, because other processes read it at any time.
func (o Owner) Write(data string) error {
	setup.ListDataDir(data)
	raw, err := json.Marshal(o)
	if err != nil {
		return err
	}
	return disk.WriteFile(ownerFile(data), append(raw, '\n'))
}

// RemoveOwner removes the owner's file. If the removal fails, the next owner overwrites the file
// before it accepts clients.
func RemoveOwner(data string) { _ = os.Remove(ownerFile(data)) }

// ReadOwner reads the file of an owner that is running. It returns unavailable if there is no
// complete file, because the owner is then starting or ending.
func ReadOwner(data string) (*Owner, error) {
	raw, err := os.ReadFile(ownerFile(data))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, perdure.Errorf(perdure.Unavailable, "it is starting or ending")
	}
	if err != nil {
		return nil, err
	}
	o := &Owner{}
	if err := json.Unmarshal(raw, o); err != nil {
		return nil, perdure.Errorf(perdure.Unavailable, "it is starting or ending")
	}
	return o, nil
}

// WorkspaceFile is the file with the path of the workspace of the worker of perdure dev. Later
// commands read this file.
func WorkspaceFile(data string) string { return filepath.Join(data, "workspace") }
