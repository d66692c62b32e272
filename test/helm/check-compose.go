// Loads a Compose file in the code of Docker Compose, with the defaults of all variables. Checks the file against the
// Compose Specification, and checks that its names and dependencies exist. Arguments: the file, and a profile.
// scripts/install-compose-check.js builds this program in the module of Docker Compose.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/compose-spec/compose-go/v2/cli"
)

func main() {
	options, err := cli.NewProjectOptions([]string{os.Args[1]}, cli.WithProfiles(os.Args[2:]))
	if err == nil {
		_, err = options.LoadProject(context.Background())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
