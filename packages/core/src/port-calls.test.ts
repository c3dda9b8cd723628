import { expect, it, onTestFinished } from 'vitest'
import { BeaverError } from './errors.ts'
import { PortCalls, type PortCallsOptions } from './port-calls.ts'

interface Shop {
  order(what: string, signal: AbortSignal, ask: (question: string) => Promise<string>): Promise<unknown>
  fail(): Promise<never>
  tell(what: string): void
}

/** Two sides of one port: `serving` serves the shop as number 1. */
function sides(shop: Partial<Shop>, options: PortCallsOptions = {}) {
  const { port1, port2 } = new MessageChannel()
  onTestFinished(() => port1.close())
  const serving = new PortCalls(port1, { served: (target) => (target === 1 ? shop : undefined) })
  const calling = new PortCalls(port2, options)
  return { port1, port2, serving, calling, remote: calling.remote<Shop>(1, { tell: 'note' }) }
}
const never = new AbortController().signal
const silent = (): Promise<string> => Promise.reject(new Error('Nothing was to be asked.'))
const errorOf = (promise: Promise<unknown>): Promise<unknown> => promise.then(() => null, (error: unknown) => error) // prettier-ignore

it('gives results, and notes in the order in which they were sent', async () => {
  const told: string[] = []
  const { remote } = sides({
    tell: (what) => void told.push(what),
    order: async (what) => ({ what, told: [...told], bytes: Buffer.from('x') }),
  })
  remote.tell('one')
  remote.tell('two')
  expect(await remote.order('tea', never, silent)).toEqual({
    what: 'tea',
    told: ['one', 'two'],
    bytes: new Uint8Array([120]),
  })
})

it('a call rejects if its arguments cannot be sent, and the port goes on', async () => {
  const { remote } = sides({ order: async (what) => what })
  const unsendable = new WeakMap() as unknown as string
  expect(await errorOf(remote.order(unsendable, never, silent))).toMatchObject({ name: 'DataCloneError' })
  expect(await remote.order('tea', never, silent)).toBe('tea')
})

it('a method that is set on the remote object stays on this side', async () => {
  const remote = Object.assign(sides({}).remote, { order: async () => 'own' })
  expect(await remote.order()).toBe('own')
})

it('a BeaverError arrives with its code and cause, and another error with its name and code', async () => {
  const cause = new BeaverError('timeout', 'No answer.', { cause: new TypeError('It is late.') })
  const thrown: unknown[] = [
    new BeaverError('fenced', 'Another daemon owns the task.', { cause }),
    Object.assign(new Error('It is full.'), { name: 'DiskError', code: 'ENOSPC' }),
    Object.assign(new Error('No such code.'), { name: 'BeaverError', code: 'constructor' }),
    'a text',
  ]
  const { remote } = sides({
    fail: () => {
      throw thrown.shift()
    },
  })
  const first = await errorOf(remote.fail())
  expect(first).toBeInstanceOf(BeaverError)
  expect(first).toMatchObject({ code: 'fenced', cause: { code: 'timeout', cause: { name: 'TypeError' } } })
  expect(await errorOf(remote.fail())).toMatchObject({ name: 'DiskError', code: 'ENOSPC' })
  expect(await errorOf(remote.fail())).not.toBeInstanceOf(BeaverError)
  expect(await errorOf(remote.fail())).toMatchObject({ message: 'a text' })
})

it('makes errors of the classes that a side names', async () => {
  class Refusal extends Error {}
  const fail = () => Promise.reject(Object.assign(new Error('No.'), { name: 'Refusal' }))
  const { remote } = sides({ fail }, { errors: { Refusal: ({ message }) => new Refusal(message) } })
  expect(await errorOf(remote.fail())).toBeInstanceOf(Refusal)
})

it('aborts the signal of the call, whose answer still arrives', async () => {
  const { remote } = sides({
    order: (_, signal) =>
      new Promise((resolve) =>
        signal.addEventListener('abort', () => resolve(String(signal.reason)), { once: true }),
      ),
  })
  const stop = new AbortController()
  const answer = remote.order('tea', stop.signal, silent)
  stop.abort(new Error('too late'))
  expect(await answer).toBe('AbortError: too late')
  expect(await remote.order('tea', stop.signal, silent)).toBe('AbortError: too late')
})

it('a function works in both directions while its call is under way', async () => {
  let kept: ((question: string) => Promise<string>) | undefined
  const { remote } = sides({
    async order(_, __, ask) {
      kept = ask
      return [await ask('Milk?'), await errorOf(ask('Sugar?'))]
    },
  })
  const ask = async (question: string): Promise<string> => {
    if (question === 'Sugar?') throw new BeaverError('conflict', 'No sugar.')
    return `${question} Yes.`
  }
  expect(await remote.order('tea', never, ask)).toMatchObject(['Milk? Yes.', { message: 'No sugar.' }])
  expect(await errorOf(kept?.('Lemon?') as Promise<string>)).toMatchObject({ code: 'wrong_state' })
})

it('refuses what is not served, whatever its name', async () => {
  const { calling, remote } = sides({})
  const other = calling.remote<{ toString(): Promise<never>; x(): Promise<never> }>(2, {})
  for (const call of [remote.fail(), other.x(), other.toString()])
    expect(await errorOf(call)).toMatchObject({ code: 'not_found' })
})

it('an abandoned number is aborted on the serving side, and its calls never settle on the other', async () => {
  const signals: AbortSignal[] = []
  const { serving, calling, remote } = sides({
    order: (_, signal) =>
      new Promise((resolve) => {
        signals.push(signal)
        signal.addEventListener('abort', () => resolve('nobody reads this'), { once: true })
      }),
    fail: async () => 'done' as never,
  })
  let settled = false
  const settle = (): void => void (settled = true)
  remote.order('tea', never, silent).then(settle, settle)
  await remote.fail()
  serving.abandon(1)
  expect(signals.map(({ aborted }) => aborted)).toEqual([true])
  remote.order('milk', never, silent).then(settle, settle)
  calling.abandon(1)
  await remote.fail()
  expect(settled).toBe(false)
})

it('a closed side fails its calls, ends those it serves, and hears nothing more', async () => {
  const signals: AbortSignal[] = []
  const { serving, calling, remote } = sides({
    order: (_, signal) => new Promise(() => signals.push(signal)),
    fail: async () => 'done' as never,
  })
  const open = errorOf(remote.order('tea', never, silent))
  await remote.fail()
  serving.close(new Error('It ends.'))
  const gone = new BeaverError('unreachable', 'It is gone.')
  calling.close(gone)
  expect([await open, await errorOf(remote.fail())]).toEqual([gone, gone])
  expect(signals.map(({ aborted }) => aborted)).toEqual([true])
})

it.each([
  [null],
  ['text'],
  [{ kind: 'toString', call: 1 }],
  [{ kind: 'result', call: '1' }],
  [{ kind: 'call', call: 1, target: 1, to: 'order', args: 'tea' }],
  [{ kind: 'call', call: 1, target: 1, to: 'order', args: [], live: [1] }],
  [{ kind: 'error', call: 1, error: null }],
])('a side that is sent %j is closed', async (garbage) => {
  const { port1, remote } = sides({})
  const open = errorOf(remote.order('tea', never, silent))
  port1.postMessage(garbage)
  port1.postMessage({ kind: 'result', call: 1, value: 'late' })
  expect(await open).toMatchObject({ code: 'wrong_state' })
  expect(await errorOf(remote.order('milk', never, silent))).toMatchObject({ code: 'wrong_state' })
})

it('an error with a cause in an unknown form, or with many, is an error', async () => {
  const many = (depth: number): object => ({
    name: 'E',
    message: `${depth}`,
    cause: depth > 0 ? many(depth - 1) : 7,
  })
  const { port1, remote } = sides({ order: () => new Promise(() => {}) })
  const open = errorOf(remote.order('tea', never, silent))
  port1.postMessage({ kind: 'error', call: 1, error: many(1_000) })
  expect(await open).toMatchObject({ message: '1000' })
})
