// The serving of one editor with a system that never answers: what the real one cannot show.
import { PassThrough } from 'node:stream'
import { until, virtualClock } from '@beaver/testing'
import { it } from 'vitest'
import type { EditorSystem } from './editor-system.ts'
import { serveAcp } from './serve-acp.ts'

const never = (): Promise<never> => new Promise(() => {})

/** A system that never answers a submission. */
const silent = (asked: string[]): EditorSystem => ({
  open: async () => ({
    client: {
      status: async () => ({}) as never,
      submit: (task) => (asked.push(JSON.stringify(task)), never()),
      cancel: never,
      decide: never,
      raise: never,
      answer: never,
      async *events() {},
      query: never,
      sessions: {} as never,
    },
    follow: (_, { signal }) =>
      new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true })),
    [Symbol.asyncDispose]: async () => {},
  }),
})

it('closes within a bound while a daemon does not answer', async () => {
  const asked: string[] = []
  const [input, output] = [new PassThrough(), new PassThrough()]
  let told = ''
  output.on('data', (bytes: Buffer) => (told += bytes.toString()))
  const clock = virtualClock()
  const serving = serveAcp(silent(asked), { input, output, version: '1', log: () => {}, clock })
  const say = (id: number, method: string, params: object): boolean =>
    input.write(`${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`)
  say(1, 'initialize', { protocolVersion: 1 })
  await until('it is there', () => told.includes('agentInfo'))
  say(2, 'session/new', { cwd: '/', mcpServers: [] })
  const sessionId = await until('the session began', () => /"sessionId":"([^"]+)"/.exec(told)?.[1])
  say(3, 'session/prompt', { sessionId, prompt: [{ type: 'text', text: 'Work.' }] })
  await until('the daemon was asked', () => asked.length > 0)
  const closed = serving.close()
  clock.advance(2_000)
  await closed
})
