// SPDX-License-Identifier: Apache-2.0

// Stream is an API server of a cluster of -count machines, as far as the holder
// needs one.  It composes each object when it is asked for it, so it stays
// small, and lists and watches are as fast as they can be read.  A patch of a
// Node adds or removes the hold, whatever else it says, and the watch shows it.
//
// On stdin it takes "busy" (a new NodeClaim, launched) and "quiet" (it has
// become Initialized).  It prints a line when all Nodes are held, and when none
// is.
package main

import (
	"bufio"
	"bytes"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"sort"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	format = "2006-01-02T15:04:05Z"
	labels = `"labels":{"karpenter.sh/nodepool":"general",` +
		`"karpenter.sh/registered":"true","kubernetes.io/arch":"amd64",` +
		`"node.kubernetes.io/instance-type":"m6i.2xlarge",` +
		`"topology.kubernetes.io/zone":"eu-central-1b"}`
)

type event struct {
	resource, text string
	rv             int
}

type server struct {
	sync.Mutex
	turn    *sync.Cond
	count   int
	old     string
	marks   []string // by Node: the mark that it carries
	version []int
	held    int
	rv      int
	busy    string // the JSON of the claim that keeps all held
	events  []event
}

func stamp(at time.Time) string { return at.UTC().Format(format) }

func (s *server) node(i int) string {
	hold := ""
	if s.marks[i] != "" {
		hold = `"karpenter.sh/do-not-disrupt":"true",` +
			`"karpenter-node-holder.io/held-since":"` + s.marks[i] + `",`
	}
	return fmt.Sprintf(`{"kind":"PartialObjectMetadata",`+
		`"apiVersion":"meta.k8s.io/v1","metadata":{"name":"%s",`+
		`"uid":"%08x-93c2-4e0b-9c3d-5f0e8d7c6b5a","resourceVersion":"%d",`+
		`"creationTimestamp":"%s",%s,"annotations":{%s"csi.volume.`+
		`kubernetes.io/nodeid":"{\"ebs.csi.aws.com\":\"i-%017x\"}"},`+
		`"ownerReferences":[{"apiVersion":"karpenter.sh/v1","kind":`+
		`"NodeClaim","name":"general-%05x","uid":`+
		`"%08x-6a1f-4e0b-9c3d-5f0e8d7c6b5a","blockOwnerDeletion":true}],`+
		`"finalizers":["karpenter.sh/termination"]}}`,
		name(i), i, s.version[i], s.old, labels, hold, i, i, i)
}

func name(i int) string {
	return fmt.Sprintf("ip-10-%d-%d-%d-%05x.eu-central-1.compute.internal",
		10+i/8100%200, 10+i/90%90, 10+i%90, i)
}

func (s *server) condition(kind, status, at string) string {
	return fmt.Sprintf(`{"type":"%s","status":"%s","reason":"%s",`+
		`"message":"","observedGeneration":1,"lastTransitionTime":"%s"}`,
		kind, status, kind, at)
}

func (s *server) claimOf(name, uid, node, created, ready string) string {
	status := "True"
	if ready == "" {
		status, ready = "Unknown", created
	}
	return fmt.Sprintf(`{"apiVersion":"karpenter.sh/v1","kind":"NodeClaim",`+
		`"metadata":{"name":"%s","generateName":"general-","uid":"%s",`+
		`"resourceVersion":"%d","creationTimestamp":"%s",%s},"spec":{`+
		`"expireAfter":"720h","nodeClassRef":{"group":"karpenter.k8s.aws",`+
		`"kind":"EC2NodeClass","name":"default"},"requirements":[{"key":`+
		`"kubernetes.io/arch","operator":"In","values":["amd64"]}]},`+
		`"status":{"providerID":"aws:///%s","nodeName":"%s","conditions":`+
		`[%s,%s,%s]}}`, name, uid, s.rv, created, labels, name, node,
		s.condition("Launched", "True", created),
		s.condition("Registered", "True", created),
		s.condition("Initialized", status, ready))
}

func (s *server) claim(i int) string {
	if i == s.count {
		return s.busy
	}
	return s.claimOf(fmt.Sprintf("general-%05x", i),
		fmt.Sprintf("%08x-6a1f-4e0b-9c3d-5f0e8d7c6b5a", i), name(i), s.old, s.old)
}

// say adds an event to the watches; the lock is held.
func (s *server) say(resource, kind, object string) {
	s.events = append(s.events, event{resource,
		`{"type":"` + kind + `","object":` + object + "}\n", s.rv})
	s.turn.Broadcast()
}

func (s *server) list(w http.ResponseWriter, q *http.Request, resource string) {
	limit, _ := strconv.Atoi(q.FormValue("limit"))
	first, _ := strconv.Atoi(q.FormValue("continue"))
	s.Lock()
	defer s.Unlock()
	total := map[string]int{"nodes": s.count, "nodeclaims": s.count,
		"nodepools": 1}[resource]
	if resource == "nodeclaims" && s.busy != "" {
		total++
	}
	last := total
	if limit > 0 && first+limit < total {
		last = first + limit
	}
	next := ""
	if last < total {
		next = strconv.Itoa(last)
	}
	fmt.Fprintf(w, `{"kind":"List","apiVersion":"v1","metadata":{`+
		`"resourceVersion":"%d","continue":"%s"},"items":[`, s.rv, next)
	for i := first; i < last; i++ {
		if i > first {
			io.WriteString(w, ",")
		}
		switch resource {
		case "nodes":
			io.WriteString(w, s.node(i))
		case "nodeclaims":
			io.WriteString(w, s.claim(i))
		default:
			io.WriteString(w, `{"apiVersion":"karpenter.sh/v1","kind":`+
				`"NodePool","metadata":{"name":"general","uid":"p",`+
				`"resourceVersion":"1","creationTimestamp":"`+s.old+
				`"},"spec":{}}`)
		}
	}
	io.WriteString(w, "]}")
}

func (s *server) watch(w http.ResponseWriter, q *http.Request, resource string) {
	flush := w.(http.Flusher).Flush
	flush()
	since, _ := strconv.Atoi(q.FormValue("resourceVersion"))
	s.Lock()
	next := sort.Search(len(s.events), func(i int) bool {
		return s.events[i].rv > since
	})
	for q.Context().Err() == nil {
		var text strings.Builder
		for ; next < len(s.events); next++ {
			if s.events[next].resource == resource {
				text.WriteString(s.events[next].text)
			}
		}
		if text.Len() == 0 {
			s.turn.Wait()
			continue
		}
		s.Unlock()
		io.WriteString(w, text.String())
		flush()
		s.Lock()
	}
	s.Unlock()
}

func (s *server) patch(w http.ResponseWriter, q *http.Request, object string) {
	body, _ := io.ReadAll(q.Body)
	s.Lock()
	defer s.Unlock()
	s.rv++
	at := strings.LastIndex(strings.SplitN(object, ".", 2)[0], "-")
	i, err := strconv.ParseInt(strings.SplitN(object[at+1:], ".", 2)[0], 16, 32)
	if !strings.HasPrefix(object, "ip-") || err != nil {
		fmt.Fprintf(w, `{"kind":"PartialObjectMetadata","apiVersion":`+
			`"meta.k8s.io/v1","metadata":{"name":"%s","resourceVersion":"%d"}}`,
			object, s.rv)
		return
	}
	mark := []byte(`held-since":"`)
	was := s.marks[i] != ""
	s.marks[i] = ""
	if from := bytes.Index(body, mark); from >= 0 && body[0] == '{' {
		from += len(mark)
		s.marks[i] = string(body[from : from+len(format)])
	}
	s.version[i] = s.rv
	if is := s.marks[i] != ""; is != was {
		s.held += map[bool]int{true: 1, false: -1}[is]
		if s.held == 0 || s.held == s.count {
			fmt.Printf("held %d at %.3f\n", s.held,
				float64(time.Now().UnixMilli())/1e3)
		}
	}
	s.say("nodes", "MODIFIED", s.node(int(i)))
	io.WriteString(w, s.node(int(i)))
}

func (s *server) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	parts := strings.Split(strings.Trim(q.URL.Path, "/"), "/")
	resource := parts[len(parts)-1]
	switch {
	case q.Method == "PATCH":
		s.patch(w, q, resource)
	case q.FormValue("watch") != "":
		s.watch(w, q, resource)
	case q.Method == "GET":
		s.list(w, q, resource)
	default:
		http.Error(w, "not here", http.StatusMethodNotAllowed)
	}
}

func main() {
	port := flag.Int("port", 0, "")
	count := flag.Int("count", 1000, "")
	flag.Parse()
	s := &server{count: *count, rv: 1000, old: stamp(time.Now().Add(-24 * time.Hour)),
		marks: make([]string, *count), version: make([]int, *count)}
	s.turn = sync.NewCond(s)
	for i := range s.version {
		s.version[i] = 1000
	}
	at, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", *port))
	if err != nil {
		log.Fatal(err)
	}
	go func() { log.Fatal(http.Serve(at, s)) }()
	fmt.Println("serving")
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		now, ready := stamp(time.Now()), ""
		s.Lock()
		s.rv++
		kind := "ADDED"
		if in.Text() == "quiet" {
			kind, ready = "MODIFIED", now
		}
		s.busy = s.claimOf("busy", "b", "busy", now, ready)
		s.say("nodeclaims", kind, s.busy)
		s.Unlock()
	}
}
