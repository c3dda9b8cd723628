// `beaver channels` as a person has it.
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { natsMessageBus } from '@beaver/nats'
import { held, inboundOf, outboundOf, until } from '@beaver/testing'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type CliPlace, type Ran, runBeaver, startBeaver } from '../support/cli.ts'
import { type FakeReply, say, type SeenRequest, use } from '../support/fake-provider.ts'
import { keptCommands, type OperatedSystem, operatedSystem } from '../support/kept-system.ts'
import type { TestSystem } from '../support/system.ts'

let plain: OperatedSystem
let system: TestSystem
let folder: string
/** In a folder whose configuration has a channel. */
let place: CliPlace
beforeAll(async () => {
  plain = await operatedSystem()
  system = plain.system
  system.provider.answerBy(numbered)
  folder = await mkdtemp(join(tmpdir(), 'beaver-channels-'))
  const hook = { type: 'webhook', url: 'https://chat.example/x', secret_env: 'HOOK', users: { Ada: 'ada' } }
  await writeFile(join(folder, 'beaver.config.json'), JSON.stringify({ gateway: { channels: { hook } } }))
  place = { cwd: folder, env: plain.env }
})
afterAll(() => rm(folder, { recursive: true, force: true }))

/** The number of the line in its chat, and the line. */
const numbered = ({ text, messages }: SeenRequest): FakeReply =>
  say(`${messages.filter(({ role }) => role === 'user').length}: ${text}\u001b[2J`)
const beaver = (...args: readonly string[]): Promise<Ran> => beaverWith({}, ...args)
const beaverWith = async (env: Record<string, string>, ...args: readonly string[]): Promise<Ran> =>
  (await keptCommands()).run(args, { cwd: folder, env: { ...plain.env, BEAVER_TRUST: '1', ...env } })

/** What the doctor says about channels. */
async function examined(env: Record<string, string> = {}): Promise<readonly string[]> {
  const { out } = await beaverWith(env, 'doctor', '--json')
  const { checks } = JSON.parse(out) as {
    checks: readonly { status: string; name: string; says: string }[]
  }
  return checks.flatMap(({ status, name, says }) =>
    name.startsWith('channel') ? [`${status} ${name}: ${says}`] : [],
  )
}

it('the doctor looks at channels, and makes nothing', async () => {
  const said = [
    'fail channel hook: $HOOK is not set here, so the gateway does not start',
    'warn channel queues: they are not there: no gateway has served a channel yet',
  ]
  // Other files of this worker may have served channels in the namespace of the system.
  const unserved = { BEAVER_NAMESPACE: 'nobody-served' }
  expect(await examined(unserved)).toEqual(said)
  expect(await examined(unserved)).toEqual(said)
})

it('a person chats line by line, and each chat is its own', async () => {
  const first = await runBeaver(['channels', 'console'], { ...place, input: 'hello\n\nagain\n' })
  expect(first).toMatchObject({ exit: 0, out: '1: hello\\u{1b}[2J\n2: again\\u{1b}[2J\n', err: '' })
  const other = await runBeaver(['channels', 'console', '--chat', 'other'], { ...place, input: 'new' })
  expect(other.out).toBe('1: new\\u{1b}[2J\n')
  expect(await beaver('channels')).toMatchObject({ exit: 0, out: 'No message waits.\n' })
})

it('the chat goes on the next time: a console that is killed loses no line that was durable, and the next one shows the answers in their order', async () => {
  const gate = held<FakeReply>()
  system.provider.answerBy((request) => (request.text === 'one' ? gate.promise : numbered(request)))
  await using console = startBeaver(['channels', 'console'], { ...place, input: 'one\ntwo\n' })
  const bus = await natsMessageBus(system.nc, system.subjects)
  await until(
    'the lines are durable',
    async () => (await bus.loads()).some(({ messages }) => messages === 2),
    { everyMs: 5 },
  )
  console.kill('SIGKILL')
  await console.ended
  gate.settle(say('3: one'))
  const next = await runBeaver(['channels', 'console'], { ...place, input: 'back' })
  expect(console.out + next.out).toBe('3: one\n4: two\\u{1b}[2J\n5: back\\u{1b}[2J\n')
  expect(await bus.loads()).toEqual([])
})

it('what waits and what was given up is listed, and is sent again', async () => {
  const bus = await natsMessageBus(system.nc, system.subjects)
  await bus.publish('inbound', inboundOf('web', 'a', 'm'))
  const stop = new AbortController()
  await bus.take('inbound', {
    channels: ['web'],
    signal: stop.signal,
    handle: async () => (stop.abort(), { kind: 'dead', reason: 'It was \u001b[31mbad.' }),
  })
  for (let i = 0; i < 2; i++)
    await bus.begin(outboundOf('web', 'a\u202eb', 'out_1'), '2026-11-24T00:00:00.000Z')
  const [letter] = await bus.deadLetters(10)
  const id = letter?.id ?? ''
  expect((await beaver('channels', 'dead')).out).toContain(`beaver channels send-again ${id}\n`)
  expect((await beaver('channels', 'dead')).out).not.toContain('\u001b')
  expect((await beaver('channels')).out).toContain('1 dead letter. See them: ')
  expect((await beaver('channels')).out).toContain(
    '1 message of the channel web may have arrived twice. The last one: out_1 to ab, ',
  )
  expect((await examined()).at(-1)).toBe(
    'warn channel queues: 1 dead letter waits; 1 message may have arrived twice',
  )
  expect((await beaver('channels', 'send-again', id)).out).toContain('waits again in the channel web')
  expect(JSON.parse((await beaver('channels', '--json')).out)).toMatchObject({
    waiting: [{ queue: 'inbound', channel: 'web', messages: 1 }],
    dead: 0,
    uncertain: [{ channel: 'web', tries: 1 }],
  })
  expect(await beaver('channels', 'send-again', id)).toMatchObject({
    exit: 1,
    err: expect.stringContaining('There is no dead letter') as string,
  })
  expect((await beaver('channels', 'send-again')).exit).toBe(2)
})

it('the list says which chats wait for a person', async () => {
  system.provider.answerBy(({ text, results }) =>
    results.length > 0
      ? say('done')
      : text === 'ask'
        ? use(['ask_user', { question: 'Why?' }])
        : use(['write_file', { path: 'a.txt', content: 'a' }]),
  )
  const bus = await natsMessageBus(system.nc, system.subjects)
  const lineOf = async (chat: string): Promise<string> =>
    (await beaver('channels')).out.split('\n').find((line) => line.includes(` ${chat} `)) ?? ''
  for (const [chat, task, waits] of [
    ['asks', 'ask', 'an answer'],
    ['calls', 'write', 'a decision'],
  ] as const) {
    await bus.publish('inbound', { ...inboundOf('web', chat, 'm'), text: task })
    expect(await lineOf(chat)).toContain('a task')
    await system.client.submit({ task, session_id: `web:${chat}`, approvals: 'wait' })
    await until('it is listed', async () => (await lineOf(chat)).includes(waits))
  }
})
