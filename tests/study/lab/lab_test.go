// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"encoding/json"
	"fmt"
	"os"
	"runtime/pprof"
	"syscall"
	"testing"
	"testing/synctest"
)

// result is what a run prints.
type result struct {
	Facts  *Facts  `json:"facts"`
	CPUS   float64 `json:"cpu_s"`
	RSSMiB float64 `json:"rss_mib"`
}

// TestRun plays the job in the file LAB_JOB and writes LAB_RESULT.  It is a
// test because synctest.Test wants one; tests/study/lab.py calls the compiled
// test.  PROFILE is the file of a CPU profile.
func TestRun(t *testing.T) {
	file := os.Getenv("LAB_JOB")
	if file == "" {
		t.Skip("LAB_JOB is not set")
	}
	job, err := ReadJob(file)
	if err != nil {
		unplayable(err)
	}
	// A profile has to begin outside of the bubble.
	if name := os.Getenv("PROFILE"); name != "" {
		f, err := os.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := pprof.StartCPUProfile(f); err != nil {
			t.Fatal(err)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		facts, err := job.Run()
		if err != nil {
			unplayable(err)
		}
		pprof.StopCPUProfile()
		if err := write(os.Getenv("LAB_RESULT"), facts); err != nil {
			t.Fatal(err)
		}
		os.Exit(0) // Karpenter's goroutines never end
	})
}

// unplayable says why a job cannot be played.
func unplayable(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(2)
}

func write(file string, facts *Facts) error {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		return err
	}
	cpu := float64(used.Utime.Sec+used.Stime.Sec) + float64(used.Utime.Usec+used.Stime.Usec)/1e6
	raw, err := json.Marshal(result{facts, cpu, float64(used.Maxrss) / 1024})
	if err != nil {
		return err
	}
	return os.WriteFile(file, append(raw, '\n'), 0o644)
}
