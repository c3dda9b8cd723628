// A loop against an endpoint that goes away and comes back, over real HTTP; the time that pauses take is
// virtual.
import { createServer, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type LoopServices, runAgentLoop } from '@beaver/agent'
import { type FailurePolicies, policiesWith } from '@beaver/core/supervision'
import { memoryHost, rootSpec, virtualClock } from '@beaver/testing'
import { describe, expect, it } from 'vitest'
import { gateBuffer } from './gate/endpoint-gate.ts'
import { providerBundle } from './provider-bundle.ts'

const minute = 60_000

/**
 * A run of one loop against `port`; pauses pass at once, in virtual time. `at` is called with the time
 * whenever it moves.
 */
async function runAgainst(
  port: number,
  {
    at = async () => {},
    policies = policiesWith({}),
  }: { at?: (ms: number) => Promise<void>; policies?: FailurePolicies } = {},
) {
  const clock = virtualClock(0)
  const pauses: number[] = []
  const host = memoryHost({
    services: {
      pause: async ({ ms }) => {
        pauses.push(ms)
        clock.advance(ms)
        await at(clock.now())
      },
    },
  })
  const place = { apiKey: 'k', keyName: 'K', model: 'm', timeoutMs: 5_000, idleMs: 5_000, gateIndex: 0 }
  const limits = {
    requestsPerMinuteMax: null,
    tokensPerMinuteMax: null,
    circuitFailuresMax: 8,
    circuitOpenMs: 10_000,
    turnMsMax: 60 * minute,
  }
  const choices = {
    ...place,
    provider: 'p',
    baseURL: `http://127.0.0.1:${port}/v1`,
    fallback: null,
    auxiliary: null,
    embeddings: null,
    gate: gateBuffer(1),
    limits,
  }
  const services: LoopServices = {
    ...{
      providers: providerBundle(choices, { clock }),
      tools: [],
      skills: [],
      definitions: [],
      profiles: new Map(),
      profileDefault: null,
      permissions: [],
    },
    ...{ clock, random: () => 0.5, toolTimeoutMs: 1_000, skillSelection: 'off', failurePolicies: policies },
  }
  const end = await runAgentLoop(rootSpec(), services, host, new AbortController().signal)
  const failures = host.events.flatMap((event) => (event.type === 'provider_call_failed' ? [event.data] : []))
  return { end, pauses, failures, passedMs: clock.now() }
}

/** A port on which nobody listens, and the server that may come there. */
async function emptyPort(): Promise<{
  port: number
  open(answer: (response: ServerResponse) => void): Promise<Server>
}> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return {
    port,
    async open(answer) {
      const back = createServer(
        (request, response) => void request.resume().on('end', () => answer(response)),
      )
      await new Promise<void>((resolve) => back.listen(port, '127.0.0.1', resolve))
      return back
    },
  }
}

function say(response: ServerResponse, content: string): void {
  const choices = [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content } }]
  response
    .setHeader('content-type', 'application/json')
    .end(JSON.stringify({ id: 'r', object: 'chat.completion', model: 'm', choices }))
}

async function closed(server: Server | null): Promise<void> {
  server?.closeAllConnections()
  await new Promise((resolve) => server?.close(resolve))
}

describe('an endpoint that refuses connections', () => {
  it('for half an hour, and comes back: the run completes, with two or three tries a minute', async () => {
    const { port, open } = await emptyPort()
    let back: Server | null = null
    const run = await runAgainst(port, {
      at: async (ms) => void (ms >= 30 * minute && (back ??= await open((response) => say(response, '42')))),
    })
    expect(run.end).toMatchObject({ status: 'completed', facts: { outputText: '42' } })
    expect(run.passedMs).toBeGreaterThanOrEqual(30 * minute)
    expect(run.passedMs).toBeLessThan(31 * minute)
    expect(run.failures.length).toBeLessThan(100)
    expect(run.failures[0]?.failure.message).toContain('cannot be reached')
    await closed(back)
  })

  it('for longer than the bound fails the run, with the class and the time', async () => {
    const { port } = await emptyPort()
    const run = await runAgainst(port, { policies: policiesWith({ outageMsMax: 20 * minute }) })
    expect(run.end.failure).toMatchObject({
      class: 'provider_unavailable',
      message: expect.stringMatching(/tried \d+ times in 20 minutes\)$/),
    })
    expect(run.passedMs).toBe(20 * minute)
  })
})

it('an endpoint that asks for 40 s is left alone for 40 s, and one that refuses the key fails the run at once', async () => {
  const { port, open } = await emptyPort()
  let limits = 1
  const server = await open((response) => {
    if (limits-- > 0)
      response.writeHead(429, { 'retry-after': '40' }).end('{"error":{"message":"slow down"}}')
    else if (limits < -1) response.writeHead(401).end('{"error":{"message":"Incorrect API key provided"}}')
    else say(response, 'ok')
  })
  const limited = await runAgainst(port)
  expect([limited.end.status, limited.pauses, limited.failures[0]?.failure.class]).toEqual([
    'completed',
    [40_000],
    'rate_limited',
  ])
  const refused = await runAgainst(port)
  expect(refused.end.failure?.class).toBe('provider_refused')
  expect(refused.pauses).toEqual([])
  await closed(server)
})
