// SPDX-License-Identifier: Apache-2.0

// Reads what a release says about itself as their authors' own libraries do:
//
//	verify FOLDER
//
// The envelope's signature by release.pub, the statement in it by in-toto's and
// SLSA's schemas, with no field that they do not know, and the OpenVEX document.
// It prints the name and the sum of each subject as sha256sum does.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"path/filepath"

	slsa "github.com/in-toto/attestation/go/predicates/provenance/v1"
	intoto "github.com/in-toto/attestation/go/v1"
	"github.com/openvex/go-vex/pkg/vex"
	"github.com/secure-systems-lab/go-securesystemslib/dsse"
	"github.com/secure-systems-lab/go-securesystemslib/signerverifier"
	"google.golang.org/protobuf/encoding/protojson"
)

func must[T any](value T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return value
}

func check(err error) { must(0, err) }

func main() {
	file := func(name string) []byte {
		return must(os.ReadFile(filepath.Join(os.Args[1], name)))
	}
	key := must(signerverifier.LoadKey(file("release.pub")))
	verifier := must(dsse.NewEnvelopeVerifier(
		must(signerverifier.NewECDSASignerVerifierFromSSLibKey(key))))
	var envelope dsse.Envelope
	check(json.Unmarshal(file("provenance.intoto.jsonl"), &envelope))
	must(verifier.Verify(context.Background(), &envelope))

	var statement intoto.Statement
	check(protojson.Unmarshal(must(envelope.DecodeB64Payload()), &statement))
	check(statement.Validate())
	var provenance slsa.Provenance
	check(protojson.Unmarshal(
		must(protojson.Marshal(statement.Predicate)), &provenance))
	check(provenance.Validate())

	document := must(vex.Parse(file("vex.openvex.json")))
	for _, s := range document.Statements {
		check(s.Validate())
	}
	for _, s := range statement.Subject {
		fmt.Printf("%s  %s\n", s.Digest["sha256"], s.Name)
	}
}
