package main

import (
	"fmt"
	"runtime/debug"

	"github.com/perdure/perdure/cmd/perdure/internal/setup"
	"github.com/spf13/cobra"
)

// version is set by a release build: -ldflags "-X main.version=v1.2.3".
var version string

func newVersionCommand(a *setup.App) *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version of this program",
		Long: `Prints the version: that of the release, else that of the module as go install
resolved it or the go command read it from git, else "dev".`,
		Example: "  perdure version",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintln(a.Stdout, programVersion())
			return err
		},
	}
}

// programVersion returns the version that commands, servers and workers report.
func programVersion() string {
	built, _ := debug.ReadBuildInfo()
	return versionFrom(version, built)
}

// versionFrom returns the version of a release build. For other builds it returns the version of
// the main module in the build info, or "dev" if the build info has no version. Go writes "(devel)"
// in place of a missing version.
func versionFrom(release string, built *debug.BuildInfo) string {
	switch {
	case release != "":
		return release
	case built == nil || built.Main.Version == "" || built.Main.Version == "(devel)":
		return "dev"
	default:
		return built.Main.Version
	}
}
