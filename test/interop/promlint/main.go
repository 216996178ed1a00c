// Promlint reads Prometheus text on stdin and prints what Prometheus' own linter (that of `promtool check metrics`) says of
// it, one problem a line; nothing when all is well. What is no such text ends it with status 1.
package main

import (
	"fmt"
	"os"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
)

func main() {
	problems, err := promlint.New(os.Stdin).Lint()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	for _, problem := range problems {
		fmt.Printf("%s: %s\n", problem.Metric, problem.Text)
	}
}
