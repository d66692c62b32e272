// Evaluates pods with the checks of Pod Security Admission, in the code of Kubernetes. Reads one JSON object
// {"metadata", "spec"} per pod from standard input. Writes the names of all checks in the first line, and then one JSON
// list per pod: the failed checks. scripts/install-pod-checks.js builds this program in the module of Kubernetes.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/pod-security-admission/policy"
)

type failure struct {
	Check  policy.CheckID `json:"check"`
	Detail string         `json:"detail"`
}

func main() {
	if err := serve(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func serve(in io.Reader, out io.Writer) error {
	pods, responses := json.NewDecoder(in), json.NewEncoder(out)
	pods.DisallowUnknownFields()
	checks := policy.DefaultChecks()
	names := []policy.CheckID{}
	for _, check := range checks {
		names = append(names, check.ID)
	}
	if err := responses.Encode(names); err != nil {
		return err
	}
	for {
		var pod corev1.PodTemplateSpec
		if err := pods.Decode(&pod); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if err := responses.Encode(evaluate(checks, &pod)); err != nil {
			return err
		}
	}
}

// Runs all checks of both levels, baseline and restricted. The last version of a check applies to the newest Kubernetes.
func evaluate(checks []policy.Check, pod *corev1.PodTemplateSpec) []failure {
	failures := []failure{}
	for _, check := range checks {
		newest := check.Versions[len(check.Versions)-1]
		if result := newest.CheckPod(&pod.ObjectMeta, &pod.Spec); !result.Allowed {
			detail := fmt.Sprintf("%s: %s", result.ForbiddenReason, result.ForbiddenDetail)
			failures = append(failures, failure{check.ID, detail})
		}
	}
	return failures
}
