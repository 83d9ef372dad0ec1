package objectjson

// podText is a Pod as an API server returns it.
const podText = `{"kind":"Pod","apiVersion":"v1","metadata":{"name":"web-0","generateName":"web-","namespace":"default",` +
	`"uid":"1d6d4f0e-6d0c-4f5c-8c7a-6a1f1a1b1c1d","resourceVersion":"184467","generation":1,"creationTimestamp":"2024-05-01T12:00:00Z",` +
	`"labels":{"app":"web","pod-template-hash":"7d9f8b6c5d","tier":"front"},"annotations":{"example.com/config-hash":"9b2c1c58",` +
	`"kubectl.kubernetes.io/restartedAt":"2024-05-01T11:59:00Z"},"ownerReferences":[{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"web-7d9f8b6c5d",` +
	`"uid":"0c1d2e3f-1111-2222-3333-444455556666","controller":true,"blockOwnerDeletion":true}],"managedFields":[` +
	`{"manager":"kube-controller-manager","operation":"Update","apiVersion":"v1","time":"2024-05-01T12:00:00Z","fieldsType":"FieldsV1","fieldsV1":{` +
	`"f:metadata":{"f:annotations":{".":{},"f:example.com/config-hash":{},"f:kubectl.kubernetes.io/restartedAt":{}},"f:generateName":{},"f:labels":{".":{},` +
	`"f:app":{},"f:pod-template-hash":{},"f:tier":{}},"f:ownerReferences":{".":{},"k:{\"uid\":\"0c1d2e3f-1111-2222-3333-444455556666\"}":{}}},"f:spec":{` +
	`"f:containers":{"k:{\"name\":\"web\"}":{".":{},"f:args":{},"f:env":{".":{},"k:{\"name\":\"GOMAXPROCS\"}":{".":{},"f:name":{},"f:value":{}},` +
	`"k:{\"name\":\"POD_IP\"}":{".":{},"f:name":{},"f:valueFrom":{".":{},"f:fieldRef":{}}}},"f:image":{},"f:imagePullPolicy":{},"f:livenessProbe":{".":{},` +
	`"f:failureThreshold":{},"f:httpGet":{".":{},"f:path":{},"f:port":{},"f:scheme":{}},"f:periodSeconds":{},"f:successThreshold":{},"f:timeoutSeconds":{}},` +
	`"f:name":{},"f:ports":{".":{},"k:{\"containerPort\":8080,\"protocol\":\"TCP\"}":{".":{},"f:containerPort":{},"f:name":{},"f:protocol":{}}},` +
	`"f:resources":{".":{},"f:limits":{".":{},"f:cpu":{},"f:memory":{}},"f:requests":{".":{},"f:cpu":{},"f:memory":{}}},"f:terminationMessagePath":{},` +
	`"f:terminationMessagePolicy":{},"f:volumeMounts":{".":{},"k:{\"mountPath\":\"/etc/web\"}":{".":{},"f:mountPath":{},"f:name":{},"f:readOnly":{}}}}},` +
	`"f:dnsPolicy":{},"f:enableServiceLinks":{},"f:restartPolicy":{},"f:schedulerName":{},"f:securityContext":{},"f:terminationGracePeriodSeconds":{},` +
	`"f:volumes":{".":{},"k:{\"name\":\"config\"}":{".":{},"f:configMap":{".":{},"f:defaultMode":{},"f:name":{}},"f:name":{}}}}}},` +
	`{"manager":"kubelet","operation":"Update","apiVersion":"v1","time":"2024-05-01T12:00:09Z","fieldsType":"FieldsV1","fieldsV1":{"f:status":{"f:conditions":{` +
	`"k:{\"type\":\"ContainersReady\"}":{".":{},"f:lastProbeTime":{},"f:lastTransitionTime":{},"f:status":{},"f:type":{}},"k:{\"type\":\"Initialized\"}":{".":{},` +
	`"f:lastProbeTime":{},"f:lastTransitionTime":{},"f:status":{},"f:type":{}},"k:{\"type\":\"Ready\"}":{".":{},"f:lastProbeTime":{},"f:lastTransitionTime":{},` +
	`"f:status":{},"f:type":{}}},"f:containerStatuses":{},"f:hostIP":{},"f:phase":{},"f:podIP":{},"f:podIPs":{".":{},"k:{\"ip\":\"10.2.3.4\"}":{".":{},"f:ip":{}}},` +
	`"f:startTime":{}}},"subresource":"status"}]},"spec":{"volumes":[{"name":"config","configMap":{"name":"web","defaultMode":420}},` +
	`{"name":"kube-api-access-x7k2p","projected":{"sources":[{"serviceAccountToken":{"expirationSeconds":3607,"path":"token"}},{"configMap":{"name":` +
	`"kube-root-ca.crt","items":[{"key":"ca.crt","path":"ca.crt"}]}},{"downwardAPI":{"items":[{"path":"namespace","fieldRef":{"apiVersion":"v1","fieldPath":` +
	`"metadata.namespace"}}]}}],"defaultMode":420}}],"containers":[{"name":"web","image":"registry.example.com/web:v1.2.3","args":["--listen=:8080",` +
	`"--config=/etc/web/config.yaml"],"ports":[{"name":"http","containerPort":8080,"protocol":"TCP"}],"env":[{"name":"GOMAXPROCS","value":"2"},{"name":"POD_IP",` +
	`"valueFrom":{"fieldRef":{"apiVersion":"v1","fieldPath":"status.podIP"}}}],"resources":{"limits":{"cpu":"500m","memory":"256Mi"},"requests":{"cpu":"100m",` +
	`"memory":"128Mi"}},"volumeMounts":[{"name":"config","readOnly":true,"mountPath":"/etc/web"},{"name":"kube-api-access-x7k2p","readOnly":true,"mountPath":` +
	`"/var/run/secrets/kubernetes.io/serviceaccount"}],"livenessProbe":{"httpGet":{"path":"/healthz","port":8080,"scheme":"HTTP"},"timeoutSeconds":1,` +
	`"periodSeconds":10,"successThreshold":1,"failureThreshold":3},"terminationMessagePath":"/dev/termination-log","terminationMessagePolicy":"File",` +
	`"imagePullPolicy":"IfNotPresent"}],"restartPolicy":"Always","terminationGracePeriodSeconds":30,"dnsPolicy":"ClusterFirst","serviceAccountName":"default",` +
	`"nodeName":"node-7","securityContext":{},"schedulerName":"default-scheduler","tolerations":[{"key":"node.kubernetes.io/not-ready","operator":"Exists",` +
	`"effect":"NoExecute","tolerationSeconds":300},{"key":"node.kubernetes.io/unreachable","operator":"Exists","effect":"NoExecute","tolerationSeconds":300}],` +
	`"priority":0,"enableServiceLinks":true,"preemptionPolicy":"PreemptLowerPriority"},"status":{"phase":"Running","conditions":[{"type":"Initialized","status":` +
	`"True","lastProbeTime":null,"lastTransitionTime":"2024-05-01T12:00:00Z"},{"type":"Ready","status":"True","lastProbeTime":null,"lastTransitionTime":` +
	`"2024-05-01T12:00:09Z"},{"type":"ContainersReady","status":"True","lastProbeTime":null,"lastTransitionTime":"2024-05-01T12:00:09Z"}],"hostIP":"10.1.0.7",` +
	`"podIP":"10.2.3.4","podIPs":[{"ip":"10.2.3.4"}],"startTime":"2024-05-01T12:00:00Z","containerStatuses":[{"name":"web","state":{"running":{"startedAt":` +
	`"2024-05-01T12:00:05Z"}},"lastState":{},"ready":true,"restartCount":0,"image":"registry.example.com/web:v1.2.3","imageID":"registry.example.com/web@sha256:` +
	`1f2e3d4c5b6a79880102030405060708090a0b0c0d0e0f101112131415161718","containerID":"containerd://aabbccddeeff00112233445566778899","started":true}],` +
	`"qosClass":"Burstable"}}`

// configMapText is a child as an API server returns it.
const configMapText = `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a-0","namespace":"default","uid":"1d6d4f0e-6d0c-4f5c-8c7a-6a1f1a1b1c1e",` +
	`"resourceVersion":"18","creationTimestamp":"2024-05-01T12:00:00Z","labels":{"parent":"a"},"annotations":{"metacontroller.k8s.io/last-applied-configuration":` +
	`"{\"apiVersion\":\"v1\",\"data\":{\"text\":\"a\\nb\"},\"kind\":\"ConfigMap\"}"},"ownerReferences":[{"apiVersion":"example.com/v1","kind":"Box",` +
	`"name":"a","uid":"0c1d2e3f-1111-2222-3333-444455556666","controller":true,"blockOwnerDeletion":true}],"managedFields":[{"manager":"libretto","operation":` +
	`"Update","apiVersion":"v1","time":"2024-05-01T12:00:00Z","fieldsType":"FieldsV1","fieldsV1":{"f:data":{".":{},"f:text":{}}}}]},"data":{"text":"a\nb"}}`
