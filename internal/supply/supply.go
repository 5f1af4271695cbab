// Package supply contains tests for what is downloaded to build and test the program. Each
// downloaded tool or module must be pinned to one version, with a checksum if its registry has one.
// The tests read the lockfiles, the modules of the tools and the scripts.
package supply
