// What models, MCP servers and programs are told of a task's trace, on a real daemon: the ids that they get are
// those of the spans that the projector sends, in teams, for a try that fails, and in a retry. A system without
// a collector passes on what the submitter said, and nothing if nobody said anything.
import { rawHttpServer, type RawHttp, until } from '@beaver/testing'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { refuse, say, use } from '../support/fake-provider.ts'
import { keptSystem, type KeptSystem } from '../support/kept-system.ts'
import { testServer, type TestServer } from '../support/nats.ts'
import {
  attributesOf,
  type CollectedSpan,
  type OtlpCollector,
  otlpCollector,
} from '../support/otlp-collector.ts'
import { projectorProcess, type ProjectorProcess } from '../support/projector.ts'
import { only, testSystem, type TestSystem } from '../support/system.ts'

let kept: KeptSystem
let server: TestServer
let collector: OtlpCollector
let mcp: RawHttp
let system: TestSystem
let projector: ProjectorProcess
beforeAll(async () => {
  kept = await keptSystem()
  server = await testServer()
  collector = await otlpCollector()
  mcp = await rawHttpServer({ tools: [{ name: 'look', inputSchema: { type: 'object' } }] })
  const telemetry = { traces: { endpoint: collector.url } }
  system = await testSystem(server, {
    telemetry,
    run_command: { enabled: true },
    mcp: { web: { url: mcp.url, permission: 'allow' } },
    permissions: { rules: [{ tool: 'run_command', decision: 'allow' }] },
  })
  projector = await projectorProcess({
    url: server.url,
    namespace: system.subjects.namespace,
    config: { telemetry },
  })
  await system.daemon()
  await until('the tools are offered', async () => {
    await system.ended((await system.client.submit({ task: 'look' })).task_id)
    return system.provider.requests.at(-1)?.tools.includes('web_look')
  })
})
afterAll(async () => {
  await projector[Symbol.asyncDispose]()
  await system[Symbol.asyncDispose]()
  await mcp[Symbol.asyncDispose]()
  await collector[Symbol.asyncDispose]()
  await server[Symbol.asyncDispose]()
})

const [trace, parent] = ['0af7651916cd43dd8448eb211c80319c', 'b7ad6b7169203331']
const submitted = { traceparent: `00-${trace}-${parent}-01`, tracestate: 'shop=7' }
const agents = [{ name: 'looker', instruction: 'Look.' }]

/** The span of a context, once it is at the collector. */
const spanOf = (context: unknown): CollectedSpan | undefined => {
  const [, traceId, spanId] = String(context).split('-')
  return collector.spans.find((each) => each.traceId === traceId && each.spanId === spanId)
}
const taskAtCollector = (id: string): Promise<unknown> =>
  until('the task is at the collector', () =>
    collector.spans.some(({ attributes }) => attributesOf(attributes)['beaver.task.id'] === id),
  )

/** A team whose member calls a server and starts a program. The first question to its model fails. */
function answerAsTeam(): void {
  let asked = 0
  system.provider.answerBy(({ results, tools }) => {
    if (tools.includes('SequentialWorkflow'))
      return results.length > 0 ? say('Done.') : use(['SequentialWorkflow', { task: 'look', agents }])
    if (++asked === 1) return refuse(503)
    return results.length > 0
      ? say('Looked.')
      : use(['web_look', {}], ['run_command', { command: 'printenv', args: ['TRACEPARENT', 'TRACESTATE'] }])
  })
}

it('whoever is called gets the id of the span of the call', async () => {
  answerAsTeam()
  system.provider.forget()
  mcp.requests.length = 0
  const { task_id: id } = await system.client.submit({ task: 'look around', trace: submitted })
  const events = await system.ended(id)
  await taskAtCollector(id)

  const toModels = system.provider.requests.map(({ headers }) => headers)
  expect(toModels.map(({ tracestate }) => tracestate)).toEqual(toModels.map(() => 'shop=7'))
  expect(toModels.map(({ traceparent }) => traceparent?.slice(-3))).toEqual(toModels.map(() => '-01'))
  const spans = toModels.map(({ traceparent }) => spanOf(traceparent))
  expect(spans.map((span) => [span?.name, span?.status.message])).toEqual([
    ['chat gpt-5-mini', undefined],
    ['chat gpt-5-mini', 'provider_unavailable'],
    ['chat gpt-5-mini', undefined],
    ['chat gpt-5-mini', undefined],
    ['chat gpt-5-mini', undefined],
  ])
  expect(new Set(spans.map((span) => span?.spanId)).size).toBe(5)
  expect(spans.every((span) => span?.traceId === trace)).toBe(true)

  const called = mcp.requests.find(({ method }) => method === 'tools/call')
  const { traceparent, tracestate } = called?.headers ?? {}
  expect(called?.params['_meta']).toMatchObject({ traceparent, tracestate })
  expect(tracestate).toBe('shop=7')
  expect(spanOf(traceparent)?.name).toBe('execute_tool web_look')

  const result = only(events, 'tool_result_recorded').find(({ data }) => data.tool_name === 'run_command')
  const [variable, state] = (JSON.parse(result?.data.content ?? '{}') as { stdout: string }).stdout.split(
    '\n',
  )
  expect([spanOf(variable)?.name, state]).toEqual(['execute_tool run_command', 'shop=7'])
  expect(collector.faults).toEqual([])
})

it('a task without a submitter of traces has its own, and a retry has a link to it and spans of its own', async () => {
  let fails = true
  system.provider.answerBy(() => (fails ? refuse(400, 'bad request') : say('Done.')))
  system.provider.forget()
  const { task_id: id } = await system.client.submit({ task: 'fail once' })
  await system.ended(id)
  fails = false
  const { task_id: again } = await system.client.retry(id, { trace: submitted })
  await system.ended(again)
  await taskAtCollector(id)
  await taskAtCollector(again)
  const [first, second] = system.provider.requests.map(({ headers }) => spanOf(headers['traceparent']))
  expect(first?.traceId).not.toBe(trace)
  expect(second?.traceId).toBe(trace)
  const [failed, retried] = [id, again].map((task) =>
    collector.spans.find(({ attributes }) => attributesOf(attributes)['beaver.task.id'] === task),
  )
  expect(retried?.links.map(({ traceId, spanId }) => [traceId, spanId])).toEqual([
    [failed?.traceId, failed?.spanId],
  ])
})

it('the projector says that the collector is away, sends everything later, and counts what was left out', async () => {
  system.provider.answerBy(() => say('Done.'))
  const traces = async () => (await system.client.query('status', {})).traces
  collector.fail(500)
  const { task_id: id } = await system.client.submit({ task: 'wait for it' })
  await system.ended(id)
  const problem = await until('it says so', async () => (await traces())?.problem ?? false)
  expect(problem.message).toBe('the collector answers with 500')
  collector.leaveOut({ rejectedSpans: 1, errorMessage: 'quota' })
  collector.fail(null)
  await taskAtCollector(id)
  await until('it says that it is well', async () => (await traces())?.problem === null)
  expect(await traces()).toMatchObject({ refused: 1, refusal: { message: 'it says: quota' } })
  collector.leaveOut(null)
})

it('without a collector, the context of the submitter goes on as it came, and nothing is made up', async () => {
  const { system: plain } = kept
  plain.provider.forget()
  for (const context of [{ trace: submitted }, {}])
    await plain.ended((await plain.client.submit({ task: 'hello', ...context })).task_id)
  const told = plain.provider.requests.map(({ headers: { traceparent, tracestate } }) => ({
    traceparent,
    tracestate,
  }))
  expect(told).toEqual([submitted, {}])
})

it('nobody is told anything if the configuration says so', async () => {
  await using quiet = await testSystem(server, { telemetry: { traces: { propagate: false } } })
  await quiet.daemon()
  await quiet.ended((await quiet.client.submit({ task: 'hello', trace: submitted })).task_id)
  expect(quiet.provider.requests.map(({ headers }) => 'traceparent' in headers)).toEqual([false])
})
