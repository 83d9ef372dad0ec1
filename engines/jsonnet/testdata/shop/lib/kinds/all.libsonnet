(import 'deployment.libsonnet') + (import 'service.libsonnet') + (import 'configmap.libsonnet')
