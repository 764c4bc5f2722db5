module fairlead/peer/grpc/old

go 1.16

require (
	google.golang.org/grpc v1.33.2
	k8s.io/kubelet v0.21.14
)
