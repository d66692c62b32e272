// Renders a chart several times in one process, because helm takes longer to start than to render.
// Usage: render-charts CHART. Reads one JSON object per rendering from standard input, and writes one JSON object per
// rendering to standard output. scripts/install-helm.js builds this program in the module of helm.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/mitchellh/copystructure"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/cli"
	"helm.sh/helm/v3/pkg/cli/values"
	"helm.sh/helm/v3/pkg/engine"
)

const namespace = "shop"

// Only an installation prints this template.
const notes = "templates/NOTES.txt"

type request struct {
	Release    string
	ValueFiles []string
	Set        []string
	// Path of the template in the chart that has the text Text. Empty: no template changes.
	Template string
	Text     string
	// Paths of the rendered templates in the chart. Templates with the suffix .tpl are always available. Empty: all.
	Only []string
	// Kubernetes version of the cluster. Empty: the default of helm.
	KubeVersion string
	// True: only NOTES.txt is rendered. False: all other templates can be rendered.
	Notes bool
	// True: lookup reads from the cluster of KUBECONFIG, like --dry-run=server.
	Cluster bool
	// True: the schemas of the chart validate the values, like in helm template.
	Validate bool
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
	loaded, err := loader.Load(folder)
	if err != nil {
		return err
	}
	requests, responses := json.NewDecoder(in), json.NewEncoder(out)
	for {
		var next request
		if err := requests.Decode(&next); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		output, err := render(loaded, next)
		answer := response{Output: output}
		if err != nil {
			answer = response{Failed: err.Error()}
		}
		if err := responses.Encode(answer); err != nil {
			return err
		}
	}
}

// Renders all templates with hooks, or NOTES.txt. The objects are in the order of their files.
func render(loaded *chart.Chart, next request) (string, error) {
	// A copy, because helm changes the values of the chart.
	copied := *loaded
	copied.Templates = replaceTemplate(loaded.Templates, next)
	if len(next.ValueFiles) > 0 && !next.Validate {
		// Other checks cover the keys of the value files. The check of the keys takes a third of the time.
		copied.Files = slices.Clone(loaded.Files)
		for index, file := range copied.Files {
			if file.Name == "strict.schema.json" {
				copied.Files[index] = &chart.File{Name: file.Name, Data: []byte("{}")}
			}
		}
	}
	defaults, err := copystructure.Copy(loaded.Values)
	if err != nil {
		return "", err
	}
	copied.Values = defaults.(map[string]interface{})
	given := values.Options{ValueFiles: next.ValueFiles, Values: next.Set}
	merged, err := given.MergeValues(nil)
	if err != nil {
		return "", err
	}
	capabilities := chartutil.DefaultCapabilities.Copy()
	if next.KubeVersion != "" {
		version, err := chartutil.ParseKubeVersion(next.KubeVersion)
		if err != nil {
			return "", err
		}
		capabilities.KubeVersion = *version
	}
	release := chartutil.ReleaseOptions{Name: next.Release, Namespace: namespace, Revision: 1, IsInstall: true}
	// The schema is the same for each change of a template. Its validation takes a third of the time.
	input, err := chartutil.ToRenderValuesWithSchemaValidation(&copied, merged, release, capabilities, !next.Validate)
	if err != nil {
		return "", err
	}
	rendered, err := renderTemplates(&copied, input, next.Cluster)
	if err != nil {
		return "", err
	}
	if next.Notes {
		return rendered[path.Join(loaded.Name(), notes)], nil
	}
	var output strings.Builder
	for _, name := range slices.Sorted(maps.Keys(rendered)) {
		if content := strings.TrimPrefix(strings.TrimSpace(rendered[name]), "---"); content != "" {
			fmt.Fprintf(&output, "---\n# Source: %s\n%s\n", name, content)
		}
	}
	return output.String(), nil
}

func renderTemplates(loaded *chart.Chart, input chartutil.Values, cluster bool) (map[string]string, error) {
	if !cluster {
		return engine.Render(loaded, input)
	}
	config, err := cli.New().RESTClientGetter().ToRESTConfig()
	if err != nil {
		return nil, err
	}
	return engine.RenderWithClient(loaded, input, config)
}

// Returns NOTES.txt and the named templates, or the other templates that next selects.
func replaceTemplate(files []*chart.File, next request) []*chart.File {
	var replaced []*chart.File
	for _, file := range files {
		if next.Notes != (file.Name == notes) && !strings.HasSuffix(file.Name, ".tpl") {
			continue
		}
		if len(next.Only) > 0 && !strings.HasSuffix(file.Name, ".tpl") && !slices.Contains(next.Only, file.Name) {
			continue
		}
		if file.Name == next.Template {
			file = &chart.File{Name: file.Name, Data: []byte(next.Text)}
		}
		replaced = append(replaced, file)
	}
	return replaced
}
