// Package tool contains the tools that a model can call: the Tool type, typed function tools
// created with New, the six built-in tools, and the workspace that confines them.
//
// File tools use os.Root, so neither ".." nor a symlink leads out of the workspace. Commands of
// bash run in their own session and process group with a clean environment. They are confined by
// Landlock or bubblewrap if the kernel supports them. docs/tools.md describes each tool, its limits
// and its confinement.
//
// A program that confines bash with Landlock must call MaybeSandboxChild at the start of main.
package tool
