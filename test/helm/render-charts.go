// Renders a chart several times in one process, because helm takes longer to start than to render.
// Usage: render-charts CHART. Reads one JSON object per rendering from standard input, and writes one JSON object per
// rendering to standard output. scripts/install-helm.js builds this program in the module of helm.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/cli"
	"helm.sh/helm/v3/pkg/cli/values"
)

const namespace = "shop"

type request struct {
	Release    string
	ValueFiles []string
	Set        []string
	// Path of the template in the chart that has the text Text. Empty: no template changes.
	Template string
	Text     string
	// True: lookup reads from the cluster of KUBECONFIG, like --dry-run=server.
	Cluster bool
}

type response struct {
	Output string `json:"output"`
	Failed string `json:"failed,omitempty"`
}

func main() {
	if err := serve(os.Args[1], os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func serve(folder string, in io.Reader, out io.Writer) error {
	chart, err := loader.Load(folder)
	if err != nil {
		return err
	}
	var files []*loader.BufferedFile
	for _, file := range chart.Raw {
		files = append(files, &loader.BufferedFile{Name: file.Name, Data: file.Data})
	}
	requests, responses := json.NewDecoder(in), json.NewEncoder(out)
	for {
		var next request
		if err := requests.Decode(&next); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		output, err := render(files, next)
		answer := response{Output: output}
		if err != nil {
			answer = response{Failed: err.Error()}
		}
		if err := responses.Encode(answer); err != nil {
			return err
		}
	}
}

// Renders like `helm template`.
func render(files []*loader.BufferedFile, next request) (string, error) {
	chart, err := loader.LoadFiles(replaceTemplate(files, next))
	if err != nil {
		return "", err
	}
	given := values.Options{ValueFiles: next.ValueFiles, Values: next.Set}
	merged, err := given.MergeValues(nil)
	if err != nil {
		return "", err
	}
	config := new(action.Configuration)
	discard := func(string, ...interface{}) {}
	if err := config.Init(cli.New().RESTClientGetter(), namespace, "memory", discard); err != nil {
		return "", err
	}
	install := action.NewInstall(config)
	install.ReleaseName, install.Namespace = next.Release, namespace
	install.DryRun, install.DryRunOption, install.ClientOnly = true, "true", true
	// The schema is the same for each change of a template. Its validation takes a third of the time.
	install.SkipSchemaValidation = true
	if next.Cluster {
		install.DryRunOption = "server"
	}
	release, err := install.Run(chart, merged)
	if err != nil {
		return "", err
	}
	return release.Manifest, nil
}

func replaceTemplate(files []*loader.BufferedFile, next request) []*loader.BufferedFile {
	replaced := make([]*loader.BufferedFile, len(files))
	for index, file := range files {
		replaced[index] = file
		if file.Name == next.Template {
			replaced[index] = &loader.BufferedFile{Name: file.Name, Data: []byte(next.Text)}
		}
	}
	return replaced
}
