//go:build tools

// Package tools pins NVIDIA's device plugin, the peer of ours in tests/bench/bench_agent.
package tools

import _ "github.com/NVIDIA/k8s-device-plugin/cmd/nvidia-device-plugin"
