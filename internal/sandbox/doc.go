// Package sandbox implements the sandbox child: a child process of this program that confines
// itself and then becomes a command of the tool bash.
//
// The child becomes the command during the initialization of packages. Go initializes packages that
// are ready in the order of their import paths (Go specification, "Program initialization"). This
// package therefore imports nothing that is initialized late or slowly.
package sandbox
