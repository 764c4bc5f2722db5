//go:build tools

// Package tools pins NVIDIA's GPU feature discovery, the peer of the agent's labels.
package tools

import _ "github.com/NVIDIA/k8s-device-plugin/cmd/gpu-feature-discovery"
