// Traces of a real system at a collector: a team that a client starts in a trace of its own, over NATS and
// over HTTP, and a projector that is killed.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createApp, tokenAccess, tokenHash } from '@beaver/http'
import { until } from '@beaver/testing'
import { headers } from '@nats-io/nats-core'
import { beforeAll, expect, it } from 'vitest'
import { say, use } from '../support/fake-provider.ts'
import { caller, told } from '../support/http-caller.ts'
import { keptSystem, type KeptSystem } from '../support/kept-system.ts'
import { attributesOf, type OtlpCollector, otlpCollector, spanTree } from '../support/otlp-collector.ts'
import { projectorProcess } from '../support/projector.ts'

let kept: KeptSystem
beforeAll(async () => void (kept = await keptSystem()))

const [trace, parent] = ['0af7651916cd43dd8448eb211c80319c', 'b7ad6b7169203331']
const traceparent = `00-${trace}-${parent}-01`

/** The spans of a task, the task itself first. A projector that was killed may have sent some twice. */
function spansOfTask({ spans: sent }: OtlpCollector, taskId: string): OtlpCollector['spans'] {
  const spans = [...new Map(sent.map((each) => [each.spanId, each])).values()]
  const inside = (id: string): OtlpCollector['spans'] =>
    spans.filter(({ parentSpanId }) => parentSpanId === id).flatMap((each) => [each, ...inside(each.spanId)])
  const task = spans.find(({ attributes }) => attributesOf(attributes)['beaver.task.id'] === taskId)
  return task === undefined ? [] : [task, ...inside(task.spanId)]
}

const key = 'sk-collector-0123456789abcdef'

it('a task is a tree of spans in the trace of who submitted it, also if the projector is killed', async () => {
  const { server, system } = kept
  await using collector = await otlpCollector()
  await using home = await folder()
  const start = () =>
    projectorProcess({
      url: server.url,
      namespace: system.subjects.namespace,
      home: home.path,
      config: { telemetry: { traces: { endpoint: collector.url } } },
      env: { OTEL_SERVICE_NAME: 'reports', OTEL_EXPORTER_OTLP_HEADERS: `api-key=${key}` },
    })
  const agents = [{ name: 'looker', instruction: 'Look.' }]
  system.provider.answerBy(({ results, tools, text }) => {
    if (text === 'hello') return say('Hello.')
    if (results.length > 0) return say('There are files.')
    return tools.includes('SequentialWorkflow')
      ? use(['SequentialWorkflow', { task: 'secret words', agents }])
      : use(['list_files', { path: '.' }])
  })

  const first = await start()
  const task = await system.client.submit({ task: 'secret words', trace: { traceparent, tracestate: 'a=1' } })
  await system.ended(task.task_id)
  await first[Symbol.asyncDispose]() // kill -9: it may have sent a part of the spans.
  await using second = await start()
  await until('the task is at the collector', () => spansOfTask(collector, task.task_id).length > 0)
  const spans = spansOfTask(collector, task.task_id)
  expect([spans[0]?.name, ...spanTree(spans, spans[0]?.spanId)]).toEqual([
    'task',
    'invoke_agent root',
    '  chat gpt-5-mini',
    '  execute_tool SequentialWorkflow',
    '    invoke_workflow SequentialWorkflow',
    '      invoke_agent looker',
    '        chat gpt-5-mini',
    '        execute_tool list_files',
    '        chat gpt-5-mini',
    '  chat gpt-5-mini',
  ])
  expect(spans[0]).toMatchObject({ traceId: trace, parentSpanId: parent, traceState: 'a=1', kind: 5 })
  expect(new Set(spans.map(({ traceId }) => traceId))).toEqual(new Set([trace]))

  // Over NATS and over HTTP, a program names its trace in the headers.
  const sent = headers()
  sent.set('traceparent', traceparent.replace(trace, '1'.repeat(32)))
  const reply = await system.nc.request(
    system.subjects.service('task.run'),
    JSON.stringify({ task: 'hello', trace: undefined }),
    { timeout: 30_000, headers: sent },
  )
  const ran = reply.json<{ result: { task_id: string } }>().result.task_id
  const access = tokenAccess(() => [{ name: 'ops', sha256: tokenHash('ops-token'), roles: ['admin'] }])
  const app = createApp({
    client: system.client,
    connected: () => true,
    access,
    hosts: () => ['beaver.test'],
    workspaceRoot: system.workspace,
  })
  const post = (path: string, traced: string, body: object = {}) =>
    caller(() => app)('POST', path, { body, headers: { traceparent: traceparent.replace(trace, traced) } })
  const posted = (await told(await post('/api/v1/tasks', '2'.repeat(32), { task: 'hello' })))['task_id'] ?? ''
  await system.ended(posted)
  const ids = [task.task_id, ran, posted]

  // A header without a valid form counts as none.
  const broken = headers()
  broken.set('traceparent', '00-no-trace-01')
  const unread = await system.nc.request(
    system.subjects.service('task.run'),
    JSON.stringify({ task: 'hello' }),
    { timeout: 30_000, headers: broken },
  )
  const own = [
    unread.json<{ result: { task_id: string } }>().result.task_id,
    (await told(await post('/api/v1/tasks', 'no trace', { task: 'hello' })))['task_id'] ?? '',
  ]
  for (const id of own) {
    await system.ended(id)
    await until('it is at the collector', () => spansOfTask(collector, id).length > 0)
    const [first] = spansOfTask(collector, id)
    expect([first?.parentSpanId, first?.traceId === trace]).toEqual([undefined, false])
  }

  await until('all are at the collector', () => ids.every((id) => spansOfTask(collector, id).length > 0))
  expect(ids.map((id) => spansOfTask(collector, id)[0]?.traceId)).toEqual([
    trace,
    '1'.repeat(32),
    '2'.repeat(32),
  ])

  expect(collector.faults).toEqual([])
  expect(collector.headers.every(({ 'api-key': sentKey }) => sentKey === key)).toBe(true)
  expect(collector.resources[0]).toMatchObject({
    'service.name': 'reports',
    'service.namespace': system.subjects.namespace,
  })
  expect(JSON.stringify(collector.spans)).not.toMatch(/secret words|There are files|Look\./)
  expect(second.stderr).not.toContain(key)
  await app.close()
})

async function folder(): Promise<AsyncDisposable & { readonly path: string }> {
  const path = await mkdtemp(join(tmpdir(), 'beaver-traces-'))
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) }
}
