// SPDX-License-Identifier: Apache-2.0

// Webhook holds Nodes and NodeClaims at admission as a webhook on
// controller-runtime does it: its server decodes the review, we decode the
// object, add two annotations, and have it compare the two for the patch.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"log"
	"net/http"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/go-logr/logr"
)

const (
	hold   = "karpenter.sh/do-not-disrupt"
	mark   = "karpenter-node-holder.io/held-since"
	format = "2006-01-02T15:04:05Z"
)

type object interface {
	GetAnnotations() map[string]string
	SetAnnotations(map[string]string)
}

type holder struct{ decoder admission.Decoder }

func (h *holder) Handle(_ context.Context, q admission.Request) admission.Response {
	var o object
	var err error
	if q.Kind.Kind == "Node" {
		node := &corev1.Node{}
		err = h.decoder.Decode(q, node)
		o = node
	} else {
		any := &unstructured.Unstructured{}
		err = h.decoder.Decode(q, any)
		o = any
	}
	if err != nil {
		return admission.Errored(http.StatusBadRequest, err)
	}
	annotations := o.GetAnnotations()
	if _, has := annotations[hold]; has {
		return admission.Allowed("")
	}
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[hold] = "true"
	annotations[mark] = time.Now().UTC().Format(format)
	o.SetAnnotations(annotations)
	changed, err := json.Marshal(o)
	if err != nil {
		return admission.Errored(http.StatusInternalServerError, err)
	}
	return admission.PatchResponseFromRaw(q.Object.Raw, changed)
}

func main() {
	port := flag.Int("port", 9443, "")
	pair := flag.String("cert-dir", "", "with tls.crt and tls.key")
	flag.Parse()
	ctrl.SetLogger(logr.Discard())
	scheme := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		log.Fatal(err)
	}
	server := webhook.NewServer(webhook.Options{
		Host: "127.0.0.1", Port: *port, CertDir: *pair})
	server.Register("/mutate", &admission.Webhook{
		Handler: &holder{admission.NewDecoder(scheme)}})
	if err := server.Start(ctrl.SetupSignalHandler()); err != nil {
		log.Fatal(err)
	}
}
