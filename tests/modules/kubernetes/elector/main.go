// SPDX-License-Identifier: Apache-2.0

// Elector takes part in an election by Lease as client-go does it, and does
// nothing else.  It prints a line when it leads, when it leads no more and when
// it sees another leader, and ends as controllers do: on SIGTERM it gives the
// Lease up and exits with 0, on a lead that is lost it exits with 1.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

func say(what, who string) {
	now := float64(time.Now().UnixMicro()) / 1e6
	fmt.Printf("%.6f %s %s\n", now, what, who)
}

func main() {
	config := flag.String("kubeconfig", "", "file")
	namespace := flag.String("namespace", "", "of the Lease")
	name := flag.String("name", "", "of the Lease")
	identity := flag.String("identity", "", "of this process alone")
	lease := flag.Duration("lease-duration", 15*time.Second, "")
	renew := flag.Duration("renew-deadline", 10*time.Second, "")
	retry := flag.Duration("retry-period", 2*time.Second, "")
	flag.Parse()

	access, err := clientcmd.BuildConfigFromFlags("", *config)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	// As controller-runtime: an attempt that hangs must not use up the lease.
	access.Timeout = *renew / 2
	ctx, stop := signal.NotifyContext(context.Background(),
		syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	leaderelection.RunOrDie(ctx, leaderelection.LeaderElectionConfig{
		Lock: &resourcelock.LeaseLock{
			LeaseMeta: metav1.ObjectMeta{
				Namespace: *namespace, Name: *name},
			Client: kubernetes.NewForConfigOrDie(access).
				CoordinationV1(),
			LockConfig: resourcelock.ResourceLockConfig{
				Identity: *identity},
		},
		LeaseDuration:   *lease,
		RenewDeadline:   *renew,
		RetryPeriod:     *retry,
		ReleaseOnCancel: true,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(context.Context) {
				say("leads", *identity)
			},
			OnStoppedLeading: func() { say("stopped", *identity) },
			OnNewLeader:      func(who string) { say("leader", who) },
		},
	})
	if ctx.Err() == nil {
		os.Exit(1)
	}
}
