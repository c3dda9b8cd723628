// Metrics of real processes after real tasks, read by a strict parser of the format of Prometheus.
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { rm, writeFile } from 'node:fs/promises'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { secretBytes, signatureFault } from '@beaver/core'
import { runningStatus } from '@beaver/platform'
import { type MetricFamily, readPrometheusText, sampleOf, until } from '@beaver/testing'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { runBeaver } from '../support/cli.ts'
import type { DaemonProcess } from '../support/daemon.ts'
import { refuse, say, use } from '../support/fake-provider.ts'
import { type GatewayProcess, gatewayProcess } from '../support/gateway.ts'
import { testServer, type TestServer } from '../support/nats.ts'
import { projectorProcess, type ProjectorProcess } from '../support/projector.ts'
import { type TestSystem, testSystem } from '../support/system.ts'

let nats: TestServer
let system: TestSystem
let home: string
let daemon: DaemonProcess
let projector: ProjectorProcess
let gateway: GatewayProcess
const canary = 'a-word-that-no-metric-has'

const statusOf = (process: string): string =>
  runningStatus(home).find((each) => each.process === process)?.url ?? ''

async function metricsOf(process: string): Promise<ReadonlyMap<string, MetricFamily>> {
  const answer = await fetch(`${statusOf(process)}/metrics`)
  const text = await answer.text()
  expect(answer.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8')
  expect(text).not.toContain(canary)
  return readPrometheusText(text)
}

beforeAll(async () => {
  nats = await testServer()
  system = await testSystem(nats, { mcp: { gone: { command: '/no such program', restarts_max: 0 } } })
  home = join(system.workspace, '.beaver')
  const shared = { BEAVER_STATUS_LISTEN: 'on', BEAVER_MODEL: 'fake', BEAVER_HOME: home }
  daemon = await system.daemon(shared)
  const { namespace } = system.subjects
  projector = await projectorProcess({ url: nats.url, namespace, home, env: shared })
  gateway = await gatewayProcess({
    cwd: system.workspace,
    env: { ...shared, NATS_URL: nats.url, BEAVER_NAMESPACE: namespace },
  })
  system.provider.answerBy(({ text, results }) => {
    if (text.includes('refused')) return refuse(400, canary)
    return results.length === 0 ? use(['read_file', { path: canary }]) : say(canary)
  })
  await system.client.run({ task: `read ${canary}`, user_id: canary, session_id: canary })
  await system.client.run({ task: 'this is refused' })
})

afterAll(async () => {
  gateway.kill('SIGTERM')
  await gateway.exited
  await projector[Symbol.asyncDispose]()
  await system[Symbol.asyncDispose]()
  await nats[Symbol.asyncDispose]()
})

describe('a daemon', () => {
  it('counts what is in the journal, each thing once', async () => {
    const all = await metricsOf('daemon')
    const of = { model: 'fake', provider: 'openai-compatible' }
    expect(sampleOf(all, 'beaver_tasks_accepted_total')).toBe(2)
    expect(sampleOf(all, 'beaver_claims_total', { kind: 'first' })).toBe(2)
    expect(sampleOf(all, 'beaver_tasks_ended_total', { status: 'completed', failure: 'none' })).toBe(1)
    expect(sampleOf(all, 'beaver_tasks_ended_total', { status: 'failed', failure: 'provider_refused' })).toBe(
      1,
    )
    expect(sampleOf(all, 'beaver_task_seconds_count', { status: 'completed' })).toBe(1)
    expect(sampleOf(all, 'beaver_model_calls_total', { ...of, outcome: 'ok' })).toBe(2)
    expect(sampleOf(all, 'beaver_model_calls_total', { outcome: 'provider_refused' })).toBe(1)
    expect(sampleOf(all, 'beaver_model_tokens_total', { ...of, kind: 'input' })).toBe(20)
    expect(sampleOf(all, 'beaver_model_tokens_total', { ...of, kind: 'output' })).toBe(10)
    expect(sampleOf(all, 'beaver_model_call_seconds_count', of)).toBe(2)
    expect(sampleOf(all, 'beaver_tool_calls_total', { tool: 'read_file', outcome: 'error' })).toBe(1)
    expect(sampleOf(all, 'beaver_append_seconds_count')).toBeGreaterThan(3)
  })

  it('shows what it holds, and that its endpoints are well', async () => {
    const all = await metricsOf('daemon')
    expect(sampleOf(all, 'beaver_slots')).toBe(128)
    expect(sampleOf(all, 'beaver_threads')).toBe(1)
    expect(sampleOf(all, 'beaver_nats_connected')).toBe(1)
    expect(sampleOf(all, 'beaver_journal_harmed')).toBe(0)
    expect(sampleOf(all, 'beaver_circuit_open', { endpoint: 'model' })).toBe(0)
    expect(sampleOf(all, 'beaver_model_waits_total', { endpoint: 'model' })).toBe(0)
    expect(sampleOf(all, 'beaver_mcp_connected', { server: 'gone' })).toBe(0)
    expect(sampleOf(all, 'beaver_append_events_sum')).toBeGreaterThan(10)
    for (const name of [
      'beaver_takeovers_total',
      'beaver_thread_restarts_total',
      'beaver_scrape_errors_total',
    ])
      expect([name, sampleOf(all, name)]).toEqual([name, 0])
    expect(sampleOf(all, 'process_resident_memory_bytes')).toBeGreaterThan(1e6)
  })

  it('shows the namespace and the tenant on every series', async () => {
    const constant = { namespace: system.subjects.namespace, tenant: 'local' }
    for (const { samples } of (await metricsOf('daemon')).values())
      for (const { labels } of samples) expect(labels).toMatchObject(constant)
  })
})

describe('a projector', () => {
  it('shows the tasks of the journal, and that it is not behind', async () => {
    const all = await until('the read model has both tasks', async () => {
      const seen = await metricsOf('projector')
      return sampleOf(seen, 'beaver_tasks', { status: 'failed' }) === 1 && seen
    })
    expect(sampleOf(all, 'beaver_tasks', { status: 'completed' })).toBe(1)
    expect(sampleOf(all, 'beaver_tasks_waiting', { for: 'person' })).toBe(0)
    expect(sampleOf(all, 'beaver_queue_oldest_seconds')).toBe(0)
    expect(sampleOf(all, 'beaver_projector_stalled')).toBe(0)
    expect(sampleOf(all, 'beaver_findings')).toBe(0)
    expect(sampleOf(all, 'beaver_journal_events')).toBeGreaterThan(10)
  })
})

describe('a gateway', () => {
  it('counts requests by the names of its routes, and strange paths together', async () => {
    await fetch(`${gateway.url}/api/v1/tasks/${canary}`)
    await fetch(`${gateway.url}/${canary}/1`)
    await fetch(`${gateway.url}/${canary}/2`)
    const all = await metricsOf('gateway')
    expect(sampleOf(all, 'beaver_http_requests_total', { route: 'other', code: '4xx' })).toBe(2)
    const samples = all.get('beaver_http_requests_total')?.samples ?? []
    expect(samples.map(({ value }) => value).reduce((a, b) => a + b, 0)).toBe(3)
    expect(samples).toHaveLength(2)
    expect(sampleOf(all, 'beaver_http_connections')).toBeGreaterThan(0)
    expect(sampleOf(all, 'beaver_http_streams')).toBe(0)
  })
})

describe('garbage at the ports', () => {
  /** What somebody sends who means something else, or no good. */
  const garbage = [
    'x'.repeat(200_000),
    '\u0000\u0001\u0002',
    'GET /metrics HTTP/1.1\r\nHost: lo',
    `GET /metrics HTTP/1.1\r\nHost: localhost\r\nX: ${'y'.repeat(100_000)}\r\n\r\n`,
    'POST /metrics HTTP/1.1\r\nHost: localhost\r\nContent-Length: 900000\r\n\r\nx',
    'DELETE /readyz HTTP/1.1\r\nHost: page.example\r\n\r\n',
  ]
  const connected = async (url: string): Promise<Socket> => {
    const { hostname, port } = new URL(url)
    const socket = connect({ host: hostname, port: Number(port) })
    socket.on('error', () => {})
    await once(socket, 'connect')
    return socket
  }

  it.each(['daemon', 'projector', 'gateway'])('does not stop a %s, nor its answers', async (process) => {
    const url = statusOf(process)
    expect(new URL(url).hostname).toBe('127.0.0.1')
    const sockets = await Promise.all(garbage.map(() => connected(url)))
    for (const [i, socket] of sockets.entries()) socket.write(garbage[i] ?? '')
    expect((await metricsOf(process)).size).toBeGreaterThan(5)
    // More than the listener takes at a time. Those above are closed at once, the others after their time.
    const silent = await Promise.all(Array.from({ length: 100 }, () => connected(url)))
    expect((await system.client.run({ task: 'go on' })).status).toBe('completed')
    for (const socket of [...sockets, ...silent]) socket.destroy()
    await until('it is answered', () =>
      metricsOf(process).then(
        (all) => all.size > 5,
        () => false,
      ),
    )
    expect([daemon, projector].map(({ stderr }) => /uncaught|Unhandled|MaxListeners/.test(stderr))).toEqual([
      false,
      false,
    ])
  })
})

describe('beaver health', () => {
  const health = (...args: readonly string[]) =>
    runBeaver(['health', ...args], { cwd: system.workspace, env: { BEAVER_HOME: home } })

  it('is 0 while all processes can work, and 3 for a home that tells nothing', async () => {
    const { exit, out } = await health('--json')
    expect(exit).toBe(0)
    const { ready, processes } = JSON.parse(out) as { ready: boolean; processes: { process: string }[] }
    expect([ready, processes.map((each) => each.process)]).toEqual([true, ['daemon', 'gateway', 'projector']])
    const elsewhere = await runBeaver(['health'], {
      cwd: system.workspace,
      env: { BEAVER_HOME: `${home}/other` },
    })
    expect(elsewhere.exit).toBe(3)
    expect(elsewhere.err).toContain('BEAVER_STATUS_LISTEN=on')
    const switchedOn = await runBeaver(['health'], {
      cwd: system.workspace,
      env: { BEAVER_HOME: `${home}/other`, BEAVER_STATUS_LISTEN: 'on' },
    })
    expect([switchedOn.exit, switchedOn.err.trim()]).toEqual([
      3,
      expect.stringMatching(/Nothing runs in .*other\. Start it: ".*beaver up"\.$/),
    ])
  })

  it('is 1 if a process does not answer', async () => {
    const file = join(home, 'run', `status-gateway-${process.pid}.json`)
    const gone = { process: 'gateway', pid: process.pid, process_start: null, url: 'http://127.0.0.1:1' }
    await writeFile(file, JSON.stringify(gone))
    const { exit, out } = await health('gateway')
    expect(exit).toBe(1)
    expect(out).toContain('not ready')
    await rm(file)
    expect((await health('daemon')).exit).toBe(0)
  })
})

it('a projector sends alerts about broken rules, each at least once, also if it is killed meanwhile', async () => {
  const got: Record<string, unknown>[] = []
  const headers: IncomingHttpHeaders[] = []
  let isThere = false
  const refused: string[] = []
  const server = createServer((request, response) => {
    let text = ''
    request.setEncoding('utf8').on('data', (piece: string) => (text += piece))
    request.on('end', () => {
      if (isThere) {
        got.push(JSON.parse(text) as Record<string, unknown>)
        headers.push(request.headers)
      } else refused.push((JSON.parse(text) as { id: string }).id)
      response.writeHead(isThere ? 204 : 503).end()
    })
  }).listen(0, '127.0.0.1')
  onTestFinished(() => void server.close())
  await once(server, 'listening')
  const webhook = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
  const { namespace } = system.subjects
  const secret = 'a secret of at least 24 bytes'
  const started = (rules: object) =>
    projectorProcess({
      ...{ url: nats.url, namespace, home },
      env: { ALERTS_SECRET: secret },
      config: {
        alerts: { webhook, secret_env: 'ALERTS_SECRET', rules },
        prices: { 'fake-model': { input: 1, output: 1 } },
      },
    })
  await projector[Symbol.asyncDispose]() // Its rows stay in the home.
  const rules = { failure_rate: { percent: 10, tasks_min: 2 }, spend: { usd: 0.000_001 } }
  await using first = await started(rules)
  await until('the receiver refused it', () => refused.length > 0)
  process.kill(first.pid, 'SIGKILL')
  const file = join(home, 'alerts', `${namespace}.local.json`)
  const kept = JSON.parse(readFileSync(file, 'utf8')) as { untold: { id: string; kind: string }[] }
  expect(kept.untold.map(({ kind }) => kind).toSorted()).toEqual(['failure_rate', 'spend'])
  await first[Symbol.asyncDispose]()
  isThere = true
  await using second = await started(rules)
  await until('the alerts are there', () => got.length === 2)
  expect(got.map(({ id }) => id)).toEqual(kept.untold.map(({ id }) => id))
  expect(new Set(refused)).toEqual(new Set([kept.untold[0]?.id]))
  const isTold = (): boolean => readFileSync(file, 'utf8').includes('"untold":[]')
  await until('they are told, and no longer kept', isTold)
  await second[Symbol.asyncDispose]()
  projector = await started({ failure_rate: { ...rules.failure_rate, percent: 100 }, spend: { usd: 1 } })
  await until('they are resolved', () => got.length === 4)
  const of = (kind: string): Record<string, unknown>[] => got.filter((each) => each['kind'] === kind)
  expect(of('failure_rate')).toMatchObject([
    { state: 'firing', value: 20, limit: 10, tenant: 'local', namespace },
    { state: 'resolved', limit: 100, since: of('failure_rate')[0]?.['at'] },
  ])
  expect(of('spend')).toMatchObject([
    { state: 'firing', value: 0.00012 },
    { state: 'resolved', limit: 1 },
  ])
  expect(of('failure_rate')[0]?.['examples']).toHaveLength(1)
  expect(JSON.stringify(got)).not.toContain(canary)
  for (const [i, of] of headers.entries()) {
    const signed = {
      headers: new Headers(of as Record<string, string>),
      body: JSON.stringify(got[i]),
      nowMs: Date.now(),
    }
    expect(signatureFault(secretBytes(secret, '$S'), signed)).toBeNull()
  }
})

it('a daemon that listens nowhere has no file and no listener', async () => {
  const silent = await system.daemon()
  expect(silent.stderr).not.toContain('status_listening')
  expect(daemon.stderr).toContain('status_listening')
})
