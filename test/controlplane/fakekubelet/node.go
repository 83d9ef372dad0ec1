package fakekubelet

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

const (
	nodeName    = "stand-in"
	nodeAddress = "127.0.0.1"
)

// registerNode makes the one node that all Pods are on. A directory that is used again has it already.
func registerNode(ctx context.Context, client kubernetes.Interface) error {
	node := standInNode(metav1.NewTime(time.Now()))
	_, err := client.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("node %s: %w", nodeName, err)
	}
	return nil
}

func standInNode(now metav1.Time) *corev1.Node {
	room := corev1.ResourceList{
		corev1.ResourceCPU:              resource.MustParse("1000"),
		corev1.ResourceMemory:           resource.MustParse("1Ti"),
		corev1.ResourceEphemeralStorage: resource.MustParse("1Ti"),
		corev1.ResourcePods:             resource.MustParse("100000"),
	}
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name: nodeName,
			Labels: map[string]string{
				corev1.LabelHostname:   nodeName,
				corev1.LabelOSStable:   "linux",
				corev1.LabelArchStable: "amd64",
			},
		},
		Status: corev1.NodeStatus{
			Capacity:    room,
			Allocatable: room,
			Addresses:   []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: nodeAddress}},
			Conditions: []corev1.NodeCondition{{
				Type:               corev1.NodeReady,
				Status:             corev1.ConditionTrue,
				Reason:             "StandIn",
				LastHeartbeatTime:  now,
				LastTransitionTime: now,
			}},
		},
	}
}
