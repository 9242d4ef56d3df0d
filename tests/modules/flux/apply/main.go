// SPDX-License-Identifier: Apache-2.0

// Apply brings the objects on stdin to a cluster as Flux's kustomize-controller
// does: by server-side apply, after it has taken over what managers own whose
// name begins with kubectl.  It prints what became of each.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"

	"github.com/fluxcd/pkg/ssa"
	"github.com/fluxcd/pkg/ssa/utils"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const group = "kustomize.toolkit.fluxcd.io"

func fail(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func main() {
	config := flag.String("kubeconfig", "", "file")
	force := flag.Bool("force", false, "a Kustomization's force")
	flag.Parse()

	access, err := clientcmd.BuildConfigFromFlags("", *config)
	fail(err)
	cluster, err := client.New(access, client.Options{})
	fail(err)
	objects, err := utils.ReadObjects(os.Stdin)
	fail(err)

	options := ssa.DefaultApplyOptions()
	options.Force = *force
	for _, name := range []string{"kubectl", "before-first-apply"} {
		for _, operation := range []metav1.ManagedFieldsOperationType{
			metav1.ManagedFieldsOperationApply,
			metav1.ManagedFieldsOperationUpdate,
		} {
			options.Cleanup.FieldManagers = append(
				options.Cleanup.FieldManagers,
				ssa.FieldManager{Name: name, OperationType: operation})
		}
	}
	options.Cleanup.Exclusions = map[string]string{group + "/ssa": "Merge"}
	manager := ssa.NewResourceManager(cluster, nil,
		ssa.Owner{Field: "kustomize-controller", Group: group})
	// The controller brings Namespaces first, too.
	var first []*unstructured.Unstructured
	for _, object := range objects {
		if object.GetKind() == "Namespace" {
			first = append(first, object)
		}
	}
	_, err = manager.ApplyAll(context.Background(), first, options)
	fail(err)
	done, err := manager.ApplyAll(context.Background(), objects, options)
	fail(err)
	for _, entry := range done.Entries {
		fmt.Println(entry.Action, entry.Subject)
	}
}
