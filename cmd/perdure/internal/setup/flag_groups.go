package setup

import (
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// exclusive is the annotation with which cobra marks flags that exclude each other. Its values are groups
// of flags: their names, separated by spaces.
const exclusive = "cobra_annotation_mutually_exclusive"

// CheckFlagGroups refuses a command line that lacks a required flag, or has flags that exclude each other.
// It does so before cobra, whose error texts differ from those of the program. Error: UsageError.
func CheckFlagGroups(cmd *cobra.Command) error {
	if err := cmd.ValidateRequiredFlags(); err != nil {
		return NewUsageError(missingFlags(cmd), UsageOf(cmd))
	}
	err := cmd.ValidateFlagGroups()
	if err == nil {
		return nil
	}
	if given := conflictingFlags(cmd); given != "" {
		return NewUsageError(given+" exclude each other", "give only one of them\n"+UsageOf(cmd))
	}
	return NewUsageError(err.Error(), UsageOf(cmd))
}

// missingFlags returns an error text that names the required flags that are not given.
func missingFlags(cmd *cobra.Command) string {
	var missing []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if required := f.Annotations[cobra.BashCompOneRequiredFlag]; len(required) > 0 && required[0] == "true" && !f.Changed {
			missing = append(missing, "--"+f.Name)
		}
	})
	if len(missing) == 1 {
		return missing[0] + " is missing"
	}
	return strings.Join(missing, " and ") + " are missing"
}

// conflictingFlags returns the given flags that exclude each other, as text; "" if there are none.
func conflictingFlags(cmd *cobra.Command) (conflict string) {
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		for _, group := range f.Annotations[exclusive] {
			var given []string
			for name := range strings.FieldsSeq(group) {
				if cmd.Flags().Changed(name) {
					given = append(given, "--"+name)
				}
			}
			if conflict == "" && len(given) > 1 {
				conflict = strings.Join(given, " and ")
			}
		}
	})
	return conflict
}
