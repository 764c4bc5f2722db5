package cluster

import "fmt"

const containerdSocket = "/run/containerd/containerd.sock"

// A root without CAP_SYS_RESOURCE cannot lower an OOM score, hence restrict_oom_score_adj.
const containerdConfig = `version = 3

[plugins.'io.containerd.cri.v1.images'.pinned_images]
  sandbox = '` + PauseImage + `'

[plugins.'io.containerd.cri.v1.runtime']
  enable_cdi = true
  cdi_spec_dirs = ['/etc/cdi', '/var/run/cdi']
  restrict_oom_score_adj = true

[plugins.'io.containerd.cri.v1.runtime'.cni]
  bin_dirs = ['/usr/lib/cni']
  conf_dir = '/etc/cni/net.d'

[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc]
  runtime_type = 'io.containerd.runc.v2'

[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc.options]
  SystemdCgroup = false
`

// kubeletConfig reports to the API server every second, so that tests see a change when it happens.
func (n *Node) kubeletConfig() []byte {
	return fmt.Appendf(nil, `apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
authentication:
  anonymous: {enabled: false}
  webhook: {enabled: true}
  x509: {clientCAFile: /etc/kubernetes/ca.crt}
authorization: {mode: Webhook}
tlsCertFile: /etc/kubernetes/kubelet.crt
tlsPrivateKeyFile: /etc/kubernetes/kubelet.key
containerRuntimeEndpoint: unix://`+containerdSocket+`
cgroupDriver: cgroupfs
cgroupRoot: /%s
failCgroupV1: false
failSwapOn: false
localStorageCapacityIsolation: false
makeIPTablesUtilChains: false
evictionHard:
  memory.available: "0%%"
  nodefs.available: "0%%"
  nodefs.inodesFree: "0%%"
  imagefs.available: "0%%"
  imagefs.inodesFree: "0%%"
imageGCHighThresholdPercent: 100
imageGCLowThresholdPercent: 99
resolvConf: ""
clusterDNS: [10.96.0.10]
clusterDomain: cluster.local
nodeStatusUpdateFrequency: 1s
nodeLeaseDurationSeconds: 4
kubeAPIQPS: 100
kubeAPIBurst: 200
featureGates:
  ResourceHealthStatus: true
`, n.cgroup())
}

// podNetwork gives each node a subnet; addresses in use are forgotten with /run at a reboot.
func (n *Node) podNetwork() []byte {
	return fmt.Appendf(nil, `{
  "cniVersion": "1.0.0",
  "name": "pods",
  "plugins": [{
    "type": "bridge",
    "bridge": "pods",
    "isGateway": true,
    "ipMasq": false,
    "ipam": {
      "type": "host-local",
      "ranges": [[{"subnet": "%s", "gateway": "%s"}]],
      "routes": [{"dst": "0.0.0.0/0"}],
      "dataDir": "/run/cni/addresses"
    }
  }]
}
`, podSubnet(n.Number), podGateway(n.Number))
}
