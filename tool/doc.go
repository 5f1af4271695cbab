// Package tool holds the tools that a model can call: the Tool type, typed
// function tools made with New, the six built-in tools, and the workspace that
// confines them.
//
// File tools go through os.Root, so neither ".." nor a symlink leads out of the
// workspace. Commands of bash run in their own session and process group with a
// clean environment, under Landlock or bubblewrap where the kernel has them.
// docs/tools.md describes each tool, its limits and what confinement covers.
//
// A program whose bash is to be confined by Landlock calls MaybeSandboxChild
// first thing in main.
package tool
