// Package sandbox implements the sandbox child: a child process of this program that confines
// itself and becomes a command of bash.
//
// The child becomes the command while packages are initialized. This package therefore imports
// nothing that is initialized late or slowly. Go initializes packages that are ready in the order
// of their import paths, see the Go specification, "Program initialization".
package sandbox
