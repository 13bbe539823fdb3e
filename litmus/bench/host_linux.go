package main

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
)

// dieWithUs makes the kernel end the process when the thread that starts it ends, so that a benchmark
// that is killed leaves no server behind.
func dieWithUs(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}

// flushDisk waits until what any process has written is on the disk: otherwise the fsync of one server
// would wait for what another has written without one.
func flushDisk() { syscall.Sync() }

// peakMemory returns the most memory, in bytes, that the process has had resident at one time.
func peakMemory(pid int) (int64, error) {
	file, err := os.Open("/proc/" + strconv.Itoa(pid) + "/status")
	if err != nil {
		return 0, err
	}
	defer file.Close()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		// "VmHWM:	   12345 kB", which means KiB
		if value, found := strings.CutPrefix(lines.Text(), "VmHWM:"); found {
			kib, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 10, 64)
			return kib << 10, err
		}
	}
	return 0, fmt.Errorf("no VmHWM in the status of process %d", pid)
}
