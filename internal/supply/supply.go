// Package supply contains the rules for downloads that build and test the program. Each downloaded
// tool or module is pinned to one version, with a checksum if its registry has one. The package
// contains only tests, which read the lockfiles, the modules of the tools and the scripts.
package supply
