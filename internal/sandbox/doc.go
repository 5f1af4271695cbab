// Package sandbox is what bash's commands are before they are commands: a child of
// this program, which confines itself and becomes the command.
//
// The child does so while packages are initialized, so this package imports
// nothing that is initialized late or takes long: Go initializes packages that are
// ready in the order of their paths, see the Go specification, "Program
// initialization".
package sandbox
