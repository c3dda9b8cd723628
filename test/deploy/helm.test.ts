// The Helm chart, rendered by the engine of Go's templates (as WebAssembly): the chart uses only its built-in
// functions, so that neither Helm nor a cluster is needed. The objects are compared with the shapes below,
// which refuse a field that they do not know. Helm and Kubernetes themselves read nothing here.
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { parse as render } from '@evertdespiegeleer/go-template'
import { beforeAll, describe, expect, it } from 'vitest'
import { parse, parseAllDocuments } from 'yaml'
import { z } from 'zod'
import { isCommand, isVariable, read, root } from './known-names.ts'

const chart = 'deploy/helm/beaver'
const templates = readdirSync(join(root, chart, 'templates'))
const usual = parse(read(`${chart}/values.yaml`)) as Values
const release = { Name: 'team', Namespace: 'agents', Service: 'Helm' }

interface Values {
  readonly [name: string]: unknown
  readonly gateway: object
  readonly daemon: object
}

const labels = z.strictObject({
  'app.kubernetes.io/name': z.literal('beaver'),
  'app.kubernetes.io/instance': z.literal(release.Name),
  'app.kubernetes.io/managed-by': z.literal('Helm').optional(),
  'app.kubernetes.io/component': z.enum(['daemon', 'projector', 'gateway']).optional(),
})
const metadata = z.strictObject({ name: z.string().regex(/^team-beaver(-[a-z]+)?$/), labels })
const matching = z.strictObject({ matchLabels: labels })
const port = z.int().min(1).max(65_535)
const probe = z.strictObject({
  httpGet: z.strictObject({
    path: z.enum(['/api/ping', '/healthz', '/readyz']),
    port: z.enum(['http', 'status']),
    httpHeaders: z
      .array(z.strictObject({ name: z.literal('Host'), value: z.literal('localhost:20000') }))
      .optional(),
  }),
  periodSeconds: z.int(),
  timeoutSeconds: z.int().optional(),
  failureThreshold: z.int().optional(),
})
const container = z.strictObject({
  name: z.string(),
  image: z.literal('beaver:0.1.0'),
  imagePullPolicy: z.string(),
  args: z.tuple([z.string()]),
  securityContext: z.strictObject({
    allowPrivilegeEscalation: z.literal(false),
    readOnlyRootFilesystem: z.literal(true),
    capabilities: z.strictObject({ drop: z.tuple([z.literal('ALL')]) }),
  }),
  env: z.array(
    z.union([
      z.strictObject({ name: z.string(), value: z.string() }),
      z.strictObject({
        name: z.string(),
        valueFrom: z.strictObject({
          secretKeyRef: z.strictObject({ name: z.string(), key: z.string(), optional: z.literal(true) }),
        }),
      }),
    ]),
  ),
  ports: z.array(z.strictObject({ name: z.enum(['http', 'status']), containerPort: port })).default([]),
  startupProbe: probe.optional(),
  readinessProbe: probe.optional(),
  livenessProbe: probe.optional(),
  resources: z.strictObject({
    requests: z.strictObject({ cpu: z.string(), memory: z.string() }),
    limits: z.strictObject({ memory: z.string() }),
  }),
  volumeMounts: z.array(
    z.strictObject({ name: z.string(), mountPath: z.string(), readOnly: z.literal(true).optional() }),
  ),
})
const items = z.array(z.strictObject({ key: z.string(), path: z.string() }))
const volume = z.union([
  z.strictObject({ name: z.string(), emptyDir: z.strictObject({ sizeLimit: z.string().optional() }) }),
  z.strictObject({ name: z.string(), configMap: z.strictObject({ name: z.string() }) }),
  z.strictObject({ name: z.string(), secret: z.strictObject({ secretName: z.string(), items }) }),
  z.strictObject({
    name: z.string(),
    persistentVolumeClaim: z.strictObject({ claimName: z.string() }),
  }),
])
const podTemplate = z.strictObject({
  metadata: z.strictObject({
    labels,
    annotations: z
      .strictObject({
        'prometheus.io/scrape': z.literal('true'),
        'prometheus.io/port': z.string(),
        'prometheus.io/path': z.literal('/metrics'),
      })
      .optional(),
  }),
  spec: z.strictObject({
    serviceAccountName: z.literal('team-beaver'),
    automountServiceAccountToken: z.literal(false),
    securityContext: z.strictObject({
      runAsNonRoot: z.literal(true),
      runAsUser: z.literal(65_532),
      runAsGroup: z.literal(65_532),
      fsGroup: z.literal(65_532),
      seccompProfile: z.strictObject({ type: z.literal('RuntimeDefault') }),
    }),
    terminationGracePeriodSeconds: z.int().min(10),
    containers: z.tuple([container]),
    volumes: z.array(volume),
  }),
})
const claims = z.tuple([
  z.strictObject({
    metadata: z.strictObject({ name: z.literal('data') }),
    spec: z.strictObject({
      accessModes: z.tuple([z.literal('ReadWriteOnce')]),
      storageClassName: z.string().optional(),
      resources: z.strictObject({ requests: z.strictObject({ storage: z.string() }) }),
    }),
  }),
])
const kind = <Kind extends string, Shape extends z.ZodRawShape>(
  apiVersion: string,
  name: Kind,
  shape: Shape,
) => z.strictObject({ apiVersion: z.literal(apiVersion), kind: z.literal(name), metadata, ...shape })

const object = z.discriminatedUnion('kind', [
  kind('apps/v1', 'Deployment', {
    spec: z.strictObject({ replicas: z.int().min(1), selector: matching, template: podTemplate }),
  }),
  kind('apps/v1', 'StatefulSet', {
    spec: z.strictObject({
      replicas: z.literal(1),
      serviceName: z.string(),
      selector: matching,
      template: podTemplate,
      volumeClaimTemplates: claims,
    }),
  }),
  kind('v1', 'Service', {
    spec: z.strictObject({
      clusterIP: z.literal('None').optional(),
      selector: labels,
      ports: z
        .array(z.strictObject({ name: z.literal('http'), port, targetPort: z.literal('http') }))
        .optional(),
    }),
  }),
  kind('v1', 'ServiceAccount', { automountServiceAccountToken: z.literal(false) }),
  kind('v1', 'ConfigMap', { data: z.strictObject({ 'beaver.config.json': z.string() }) }),
  kind('policy/v1', 'PodDisruptionBudget', {
    spec: z.strictObject({ maxUnavailable: z.literal(1), selector: matching }),
  }),
  kind('networking.k8s.io/v1', 'NetworkPolicy', {
    spec: z.strictObject({
      podSelector: matching,
      policyTypes: z.tuple([z.literal('Ingress')]),
      ingress: z
        .array(
          z.strictObject({
            ports: z.array(z.strictObject({ port, protocol: z.literal('TCP') })),
            from: z
              .tuple([
                z.strictObject({
                  namespaceSelector: z.strictObject({
                    matchLabels: z.strictObject({ 'kubernetes.io/metadata.name': z.string() }),
                  }),
                }),
              ])
              .optional(),
          }),
        )
        .optional(),
    }),
  }),
  kind('monitoring.coreos.com/v1', 'PodMonitor', {
    spec: z.strictObject({
      selector: matching,
      podMetricsEndpoints: z.array(
        z.strictObject({ port: z.literal('status'), path: z.literal('/metrics') }),
      ),
    }),
  }),
])
type KubernetesObject = z.infer<typeof object>
type Workload = Extract<KubernetesObject, { kind: 'Deployment' | 'StatefulSet' }>

/** The objects of the chart with these values in place of the usual ones. */
async function rendered(over: object = {}): Promise<KubernetesObject[]> {
  const parts = read(`${chart}/templates/_parts.tpl`)
  const values = { Values: { ...usual, ...over }, Release: release, Chart: { AppVersion: '0.1.0' } }
  const texts: string[] = []
  for (const name of templates.filter((each) => each.endsWith('.yaml')))
    texts.push(await render(`${parts}${read(`${chart}/templates/${name}`)}`, values))
  return texts.flatMap((text) =>
    parseAllDocuments(text, { strict: true, uniqueKeys: true }).flatMap((document) => {
      if (document.errors.length > 0) throw new Error(`${String(document.errors[0])}\n${text}`)
      const content = document.toJS() as unknown
      return content === null ? [] : [object.parse(content)]
    }),
  )
}

const workloads = (objects: readonly KubernetesObject[]): Workload[] =>
  objects.filter((each): each is Workload => each.kind === 'Deployment' || each.kind === 'StatefulSet')
const podOf = ({ spec }: Workload) => spec.template.spec
const kinds = (objects: readonly KubernetesObject[]): string[] =>
  objects.map(({ kind: of, metadata: { name } }) => `${of} ${name}`).toSorted()

let objects: KubernetesObject[]
beforeAll(async () => {
  objects = await rendered()
})

describe('the chart', () => {
  it('makes the processes with their services, and nothing twice', () => {
    expect(kinds(objects)).toEqual([
      'ConfigMap team-beaver',
      'Deployment team-beaver-daemon',
      'NetworkPolicy team-beaver',
      'NetworkPolicy team-beaver-gateway',
      'PodDisruptionBudget team-beaver-daemon',
      'Service team-beaver-gateway',
      'Service team-beaver-projector',
      'ServiceAccount team-beaver',
      'StatefulSet team-beaver-gateway',
      'StatefulSet team-beaver-projector',
    ])
  })

  it('gives each process a command and variables that exist, and mounts what it declares', () => {
    for (const each of workloads(objects)) {
      const { containers, volumes } = podOf(each)
      const [{ name, args, env, volumeMounts }] = containers
      expect([name, isCommand(args[0])]).toEqual([args[0], true])
      expect(env.map((one) => one.name).filter((one) => !isVariable(one))).toEqual([])
      const claimed = each.kind === 'StatefulSet' ? ['data'] : []
      expect(volumeMounts.map((one) => one.name).toSorted()).toEqual(
        [...volumes.map((one) => one.name), ...claimed].toSorted(),
      )
      expect(each.spec.selector.matchLabels).toEqual(each.spec.template.metadata.labels)
      const journal = volumes.find((one) => one.name === 'journal-keys')
      expect(journal).toMatchObject({
        secret: {
          items: [
            ...(name === 'gateway' ? [] : [{ key: `${name}.key`, path: `${name}.key` }]),
            { key: 'operator', path: 'operators/BEAVER_default' },
          ],
        },
      })
      // Each process gets the key of its own role alone.
      const keys = volumes.find((one) => one.name === 'nats-keys')
      expect(keys).toMatchObject({ secret: { items: [{ key: `${name}.nk`, path: `${name}.nk` }] } })
    }
  })

  it('has services that select pods, and whose names the sets use', () => {
    const pods = workloads(objects).map(({ spec }) => JSON.stringify(spec.template.metadata.labels))
    for (const each of objects)
      if (each.kind === 'Service') expect(pods).toContain(JSON.stringify(each.spec.selector))
    const services = objects.filter(({ kind: of }) => of === 'Service').map((each) => each.metadata.name)
    for (const each of objects)
      if (each.kind === 'StatefulSet') expect(services).toContain(each.spec.serviceName)
  })

  it('asks the gateway by a name to which it answers', () => {
    const config = objects.find((each) => each.kind === 'ConfigMap')?.data['beaver.config.json'] ?? ''
    const { gateway } = z
      .object({ gateway: z.object({ hosts: z.array(z.string()), port: z.literal(20_000) }) })
      .parse(JSON.parse(config))
    expect(gateway.hosts).toContain('localhost:20000')
  })

  /** The ports at which the processes listen if only an address is named. */
  const statusPorts = Object.fromEntries(
    [...read('docs/how-to/watch-with-prometheus.md').matchAll(/^\| (\w+) \| `127\.0\.0\.1:(\d+)` \|$/gm)].map(
      ([, name = '', at]) => [name, Number(at)],
    ),
  )

  it('asks each process how it is, at the port at which it listens, and lets Prometheus scrape it', () => {
    expect(Object.keys(statusPorts)).toEqual(['daemon', 'projector', 'gateway'])
    for (const { spec } of workloads(objects)) {
      const { metadata: of, spec: pod } = spec.template
      const [one] = pod.containers
      const at = statusPorts[one.name] ?? 0
      expect(one.env).toContainEqual({ name: 'BEAVER_STATUS_LISTEN', value: '0.0.0.0' })
      expect(one.ports).toContainEqual({ name: 'status', containerPort: at })
      for (const [path, each] of [
        ['/healthz', one.startupProbe],
        ['/readyz', one.readinessProbe],
        ['/healthz', one.livenessProbe],
      ] as const)
        expect([one.name, each?.httpGet]).toEqual([one.name, { path, port: 'status' }])
      expect(of.annotations?.['prometheus.io/port']).toBe(String(at))
    }
    const policy = objects.find(
      (each) => each.kind === 'NetworkPolicy' && each.metadata.name === 'team-beaver',
    )
    expect(policy).toMatchObject({
      spec: { ingress: [{ ports: Object.values(statusPorts).map((each) => ({ port: each })) }] },
    })
  })

  it('has a monitor instead of annotations, and lets in one namespace alone, if asked to', async () => {
    const more = await rendered({ podMonitor: true, scraperNamespace: 'monitoring' })
    expect(kinds(more)).toContain('PodMonitor team-beaver')
    expect(workloads(more).map(({ spec }) => spec.template.metadata.annotations)).toEqual([
      undefined,
      undefined,
      undefined,
    ])
    const policy = more.find((each) => each.kind === 'NetworkPolicy' && each.metadata.name === 'team-beaver')
    expect(policy).toMatchObject({
      spec: {
        ingress: [
          { from: [{ namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'monitoring' } } }] },
        ],
      },
    })
  })

  it('asks only the gateway if the processes tell nothing', async () => {
    const less = await rendered({ status: false, podMonitor: true })
    expect(kinds(less).filter((each) => each.startsWith('PodMonitor'))).toEqual([])
    for (const { spec } of workloads(less)) {
      const [one] = spec.template.spec.containers
      const paths = [one.startupProbe, one.readinessProbe, one.livenessProbe].map(
        (each) => each?.httpGet.path,
      )
      expect([one.name, ...paths]).toEqual(
        one.name === 'gateway'
          ? ['gateway', undefined, '/api/ping', '/api/ping']
          : [one.name, undefined, undefined, undefined],
      )
      expect(one.env).toContainEqual({ name: 'BEAVER_STATUS_LISTEN', value: 'off' })
      expect(JSON.stringify(one.ports)).not.toContain('status')
    }
    const policy = less.find((each) => each.kind === 'NetworkPolicy' && each.metadata.name === 'team-beaver')
    expect(policy).toMatchObject({ spec: { policyTypes: ['Ingress'] } })
    expect(JSON.stringify(policy)).not.toContain('"ingress"')
  })

  it('has no field that the shapes do not know', () => {
    const [daemon] = workloads(objects)
    const misspelt = JSON.stringify(daemon).replace('"resources"', '"resource"')
    expect(object.safeParse(JSON.parse(misspelt)).success).toBe(false)
  })

  it('tells how to make a token and how to reach the gateway', async () => {
    const notes = await render(read(`${chart}/templates/NOTES.txt`), { Values: usual, Release: release })
    expect(notes).toContain('exec team-beaver-gateway-0 -- beaver token create')
    expect(notes).toContain('port-forward service/team-beaver-gateway 20000')
  })

  it('leaves out what is switched off, and uses a claim for the files of agents', async () => {
    const less = await rendered({
      networkPolicy: false,
      gateway: { ...usual.gateway, enabled: false },
      daemon: { ...usual.daemon, workspaceClaim: 'shared' },
    })
    expect(kinds(less).filter((each) => /gateway|NetworkPolicy/.test(each))).toEqual([])
    const [daemon] = workloads(less)
    expect(daemon === undefined ? [] : podOf(daemon).volumes).toContainEqual({
      name: 'work',
      persistentVolumeClaim: { claimName: 'shared' },
    })
  })

  it('keeps a text with quotes and line ends as it is', async () => {
    const config = '{"a": "\\"quoted\\"",\n "b": "ü: {{ x }}"}'
    const [map] = (await rendered({ config })).filter((each) => each.kind === 'ConfigMap')
    expect(map?.data['beaver.config.json']).toBe(config)
  })

  it('has a schema of its values that fits them, and refuses others', () => {
    const schema = z.fromJSONSchema(
      JSON.parse(read(`${chart}/values.schema.json`)) as Parameters<typeof z.fromJSONSchema>[0],
    )
    expect(schema.safeParse(usual).error?.issues ?? []).toEqual([])
    expect(schema.safeParse({ ...usual, natsUri: 'x' }).success).toBe(false)
    expect(schema.safeParse({ ...usual, daemon: { ...usual.daemon, replicas: 0 } }).success).toBe(false)
    expect(schema.safeParse({ ...usual, image: { ...Object(usual['image']), tag: 'latest' } }).success).toBe(
      false,
    )
    expect(parse(read(`${chart}/Chart.yaml`))).toMatchObject({ apiVersion: 'v2', name: 'beaver' })
  })
})
