// SPDX-License-Identifier: Apache-2.0

// Package core is the holder's own core, by cgo: what a run of the lab judges
// is what ships.  The Makefile gives the archives in CGO_LDFLAGS.
package core

// #include <stdlib.h>
// #include "glue.h"
import "C"

import (
	"errors"
	"math"
	"time"
	"unsafe"
)

// Kind is what the holder watches.
type Kind int

const (
	Node      Kind = C.HOLDER_NODE
	NodeClaim Kind = C.HOLDER_NODECLAIM
	NodePool  Kind = C.HOLDER_NODEPOOL
	Event     Kind = C.HOLDER_EVENT
)

// What is to be done.
type What int

const (
	Wait       What = C.HOLDER_WAIT
	MergePatch What = C.HOLDER_MERGE_PATCH
	JSONPatch  What = C.HOLDER_JSON_PATCH
	Get        What = C.HOLDER_GET
	List       What = C.HOLDER_LIST // of metadata
)

// Step is what the holder wants done.  Call names it until Done.
type Step struct {
	What What
	Kind Kind
	Call uint
	Wait time.Duration // the longest time to wait, or Forever
	Name string        // of the object
	Body []byte        // of the patch
}

// Forever is the Wait of a holder that has nothing to do before something
// comes.
const Forever = time.Duration(math.MaxInt64)

// Code is how a call ended.
type Code int

const (
	OK       Code = C.HOLDER_OK
	Conflict Code = C.HOLDER_CONFLICT
	Invalid  Code = C.HOLDER_INVALID
	Refused  Code = C.HOLDER_REFUSED
	Gone     Code = C.HOLDER_GONE
)

// Holder is one replica, which leads.  Its methods belong to one goroutine,
// except Review, which any goroutine may call.
type Holder struct {
	Lanes int // how many calls may be under way at once

	h     *C.struct_holder
	begin time.Time
}

type why [C.HOLDER_WHY_BYTES]C.char

func (w *why) err() error { return errors.New(C.GoString(&w[0])) }

func pointer(b []byte) *C.char { return (*C.char)(unsafe.Pointer(unsafe.SliceData(b))) }

// now is the bubble's time.  The API server's Date has whole seconds.
func (h *Holder) now() C.struct_holder_now {
	const boot = 1_000_000_000 // an arbitrary start of CLOCK_BOOTTIME
	now := time.Now()
	return C.struct_holder_now{
		server_ms: C.int64_t(now.Unix() * 1000),
		boot_ms:   C.int64_t(now.Sub(h.begin).Milliseconds() + boot),
	}
}

// New makes a holder with this configuration (YAML, docs/configuration.md).
func New(config string, seed int64) (*Holder, error) {
	var w why
	var lanes C.uint
	h := &Holder{begin: time.Now()}
	text := []byte(config)
	h.h = C.holder_new(pointer(text), C.size_t(len(text)), C.uint64_t(seed), h.now(), &lanes, &w[0])
	if h.h == nil {
		return nil, w.err()
	}
	h.Lanes = int(lanes)
	return h, nil
}

// Review answers an AdmissionReview.
func (h *Holder) Review(body []byte) ([]byte, error) {
	var w why
	reply := make([]byte, C.HOLDER_REPLY_BYTES)
	n := C.holder_review(h.h, pointer(body), C.size_t(len(body)), h.now().server_ms, pointer(reply), &w[0])
	if n < 0 {
		return nil, w.err()
	}
	return reply[:n], nil
}

// Line takes a line of a watch.
func (h *Holder) Line(kind Kind, line []byte) error {
	var w why
	if C.holder_line(h.h, C.enum_holder_kind(kind), pointer(line), C.size_t(len(line)), h.now(), &w[0]) != 0 {
		return w.err()
	}
	return nil
}

// Next returns what is to be done.
func (h *Holder) Next() Step {
	s := C.holder_next(h.h, h.now())
	step := Step{What: What(s.what), Kind: Kind(s.kind), Call: uint(s.call), Wait: Forever}
	if step.What == Wait {
		if ms := int64(s.wait_ms); ms < int64(Forever/time.Millisecond) {
			step.Wait = time.Duration(ms) * time.Millisecond
		}
		return step
	}
	step.Name = C.GoString(s.name)
	step.Body = C.GoBytes(unsafe.Pointer(s.body), C.int(s.body_bytes))
	return step
}

// Read takes what a Get has read, or one item of a List.
func (h *Holder) Read(call uint, object []byte) error {
	var w why
	if C.holder_read(h.h, C.uint(call), pointer(object), C.size_t(len(object)), h.now(), &w[0]) != 0 {
		return w.err()
	}
	return nil
}

// Done reports how a call ended.  version is the resourceVersion after a patch.
func (h *Holder) Done(call uint, code Code, version string) {
	rv := C.CString(version)
	defer C.free(unsafe.Pointer(rv))
	C.holder_done(h.h, C.uint(call), C.enum_holder_code(code), rv, h.now())
}
