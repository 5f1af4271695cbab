package tool

import "github.com/perdure/perdure/tool/internal/hold"

// HoldDataDir opens the data directory at path and keeps it open until this process ends. From then on,
// tools cannot use this folder in workspaces whose DataDir is this path, even if the folder or a folder
// above it is moved. Call it at the start of the program, before any tool runs; otherwise OpenWorkspace
// calls it when the first workspace with this path is opened.
func HoldDataDir(path string) error {
	_, err := hold.DataDir(path)
	return err
}

// HoldSecrets opens files with secrets and keeps them open until this process ends. From then on, tools
// cannot use these files in workspaces whose Secrets are these paths, even if the files are moved.
// HoldSecrets skips a path at which no file exists.
func HoldSecrets(paths []string) error {
	_, err := hold.Secrets(paths)
	return err
}
