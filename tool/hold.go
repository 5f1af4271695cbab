package tool

import "github.com/perdure/perdure/tool/internal/hold"

// HoldDataDir opens the data directory at path until this process ends. From then on, workspaces
// with that DataDir keep tools out of this folder, even if the folder or a folder above it is
// moved. Call it at the start of the program, before any tool runs. Otherwise OpenWorkspace calls
// it when it first uses a path.
func HoldDataDir(path string) error {
	_, err := hold.DataDir(path)
	return err
}

// HoldSecrets opens files with secrets until this process ends. From then on, workspaces with these
// Secrets keep tools out of these files, even if the files are moved. A file that does not exist is
// skipped.
func HoldSecrets(paths []string) error {
	_, err := hold.Secrets(paths)
	return err
}
