// Package fakekubelet takes the place of everything that would make Pods run: it says of every Pod that it runs and of every
// claim that it is bound, and starts nothing. An annotation holds a step back, for tests of what happens meanwhile.
package fakekubelet

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

// kubelet stands in for scheduler, kubelet and volume provisioner.
type kubelet struct {
	client kubernetes.Interface
	pods   corelisters.PodLister
	claims corelisters.PersistentVolumeClaimLister
	lastIP atomic.Uint32
}

// Run registers the node and looks after Pods and claims until the context ends.
func Run(ctx context.Context, config *rest.Config) error {
	client, err := kubernetes.NewForConfig(rest.AddUserAgent(rest.CopyConfig(config), "kubelet"))
	if err != nil {
		return fmt.Errorf("client: %w", err)
	}
	if err := registerNode(ctx, client); err != nil {
		return err
	}
	factory := informers.NewSharedInformerFactory(client, 0)
	core := factory.Core().V1()
	k := &kubelet{
		client: client,
		pods:   core.Pods().Lister(),
		claims: core.PersistentVolumeClaims().Lister(),
	}
	pods, err := newLoop("pod", core.Pods().Informer(), k.syncPod)
	if err != nil {
		return err
	}
	claims, err := newLoop("claim", core.PersistentVolumeClaims().Informer(), k.syncClaim)
	if err != nil {
		return err
	}
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	go claims.run(ctx)
	pods.run(ctx)
	return context.Cause(ctx)
}

// syncPod does the next thing that is due for a Pod. Whatever it writes comes back as an event, and so the next step.
func (k *kubelet) syncPod(ctx context.Context, key cache.ObjectName) error {
	pod, err := k.pods.Pods(key.Namespace).Get(key.Name)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	switch nextStep(pod) {
	case stepBind:
		return k.bind(ctx, pod)
	case stepRemove:
		return k.remove(ctx, pod)
	case stepReport:
		return k.report(ctx, pod)
	}
	return nil
}

func (k *kubelet) bind(ctx context.Context, pod *corev1.Pod) error {
	binding := &corev1.Binding{
		ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID},
		Target:     corev1.ObjectReference{Kind: "Node", Name: nodeName},
	}
	return k.client.CoreV1().Pods(pod.Namespace).Bind(ctx, binding, metav1.CreateOptions{})
}

// remove completes a deletion, of this very Pod and not of one that took its name.
func (k *kubelet) remove(ctx context.Context, pod *corev1.Pod) error {
	options := metav1.DeleteOptions{
		GracePeriodSeconds: new(int64),
		Preconditions:      metav1.NewUIDPreconditions(string(pod.UID)),
	}
	return k.client.CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name, options)
}

// report writes the status, if it says anything new.
func (k *kubelet) report(ctx context.Context, pod *corev1.Pod) error {
	status := podStatus(pod, metav1.NewTime(time.Now().Truncate(time.Second)), k.nextIP)
	if equality.Semantic.DeepEqual(status, pod.Status) {
		return nil
	}
	changed := pod.DeepCopy()
	changed.Status = status
	_, err := k.client.CoreV1().Pods(pod.Namespace).UpdateStatus(ctx, changed, metav1.UpdateOptions{})
	return err
}

// nextIP is an address that no Pod had before, as long as there are fewer than 65536.
func (k *kubelet) nextIP() string {
	n := k.lastIP.Add(1)
	return fmt.Sprintf("10.244.%d.%d", n>>8&0xff, n&0xff)
}
