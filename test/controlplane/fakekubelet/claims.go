package fakekubelet

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
)

// syncClaim says of a claim that it is bound. There is no volume behind it, and so no name of one in its spec.
func (k *kubelet) syncClaim(ctx context.Context, key cache.ObjectName) error {
	claim, err := k.claims.PersistentVolumeClaims(key.Namespace).Get(key.Name)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	if !bindable(claim) {
		return nil
	}
	bound := claim.DeepCopy()
	bound.Status.Phase = corev1.ClaimBound
	bound.Status.AccessModes = claim.Spec.AccessModes
	bound.Status.Capacity = claim.Spec.Resources.Requests
	_, err = k.client.CoreV1().PersistentVolumeClaims(claim.Namespace).UpdateStatus(ctx, bound, metav1.UpdateOptions{})
	return err
}

func bindable(claim *corev1.PersistentVolumeClaim) bool {
	return claim.DeletionTimestamp == nil && claim.Status.Phase == corev1.ClaimPending && !held(claim, HoldBound)
}
