// Calls of tools that live in another process, which says what a call would act on (described-work.ts).
import { calls, type MemoryHost, memoryHost, rootSpec, says, until } from '@beaver/testing'
import { describe, expect, it } from 'vitest'
import { begin, type Loop, results } from '../../test/loop-kit.ts'
import { type CallDescription, externalTool } from '../tools/external-tools.ts'
import type { PermissionRule } from '../tools/permission.ts'
import type { Tool } from '../tools/tool.ts'

const shell = (made: unknown[] = []): Tool => ({
  ...externalTool({
    name: 'sh',
    description: 'Runs a command.',
    parameters: { type: 'object' },
    idempotent: true,
    permission: 'allow',
    subjectKind: 'command',
    describes: true,
  }),
  invoke: async (args) => (made.push(args), 'ran'),
})
const acting = (subject: string): CallDescription => ({
  subject,
  unreadable: null,
  inputFault: null,
  preview: null,
  refused: null,
})
const hostThatSays = (say: () => Promise<CallDescription>) =>
  memoryHost({ services: { describeExternal: say } })
const ask: PermissionRule = { tool: 'sh', decision: 'ask' }
const from = ({ events }: MemoryHost) => rootSpec({ resume: events })
const waits = (loop: Loop) => until('a person is asked', () => loop.host.undecided.length > 0)

describe('a tool of another process', () => {
  it('whose subject is a command is denied every spelling of what a rule forbids', async () => {
    const made: unknown[] = []
    const host = hostThatSays(async () => acting('/bin/rm -rf x'))
    const permissions: PermissionRule[] = [{ tool: 'sh', pattern: 'rm *', decision: 'deny' }]
    await begin({ replies: [calls(['sh', {}]), says('x')], tools: [shell(made)], permissions, host }).end
    expect([results(host)[0]?.error, made]).toEqual(['permission_denied', []])
  })

  it('is not called if it acts on something else after a person has approved the call', async () => {
    const made: unknown[] = []
    let subject = 'ls a'
    const loop = begin({
      replies: [calls(['sh', {}]), says('x')],
      tools: [shell(made)],
      permissions: [ask],
      host: hostThatSays(async () => acting(subject)),
    })
    await waits(loop)
    subject = 'ls b'
    loop.host.decide('c1', { approved: true })
    await loop.end
    expect([results(loop.host)[0]?.error, made]).toEqual(['changed_since_approval', []])
  })

  it('is called if it acts on what the person was shown, also if no rule asks any more', async () => {
    const made: unknown[] = []
    const first = begin({
      replies: [calls(['sh', {}])],
      tools: [shell()],
      permissions: [ask],
      host: hostThatSays(async () => acting('ls a')),
    })
    await waits(first)
    const host = memoryHost({
      entries: first.host.entries,
      services: { describeExternal: async () => acting('ls a') },
    })
    host.decide('c1', { approved: true })
    await begin({ replies: [says('x')], tools: [shell(made)], host, spec: from(host) }).end
    expect([results(host)[0]?.error, made]).toEqual([null, [{}]])
    first.cancel()
  })

  it('is described for all calls of an answer at once, and the end of the run waits for no description', async () => {
    let asked = 0
    const loop = begin({
      replies: [calls(['sh', { n: 1 }], ['sh', { n: 2 }])],
      tools: [shell()],
      permissions: [ask],
      host: hostThatSays(() => (asked++, new Promise(() => {}))),
    })
    await until('both are described', () => asked === 2)
    loop.cancel()
    expect((await loop.end).status).toBe('cancelled')
    expect(results(loop.host).map(({ error }) => error)).toEqual(['cancelled', 'cancelled'])
  })

  it('is not asked again about a call that has begun', async () => {
    let asked = 0
    const host = hostThatSays(async () => (asked++, acting('ls a')))
    await begin({
      replies: [calls(['sh', {}]), says('x')],
      tools: [shell()],
      permissions: [{ tool: 'sh', pattern: 'rm *', decision: 'deny' }],
      host,
    }).end
    expect([results(host)[0]?.error, asked]).toEqual([null, 1])
  })
})

describe('a call whose approval is pending', () => {
  it('does not run after its approval if a rule forbids it by then', async () => {
    const made: unknown[] = []
    const permissions = [ask]
    const loop = begin({
      replies: [calls(['sh', {}]), says('x')],
      tools: [shell(made)],
      permissions,
      host: hostThatSays(async () => acting('ls a')),
    })
    await waits(loop)
    permissions[0] = { tool: 'sh', decision: 'deny' }
    loop.host.decide('c1', { approved: true })
    await loop.end
    expect([results(loop.host)[0]?.error, made]).toEqual(['permission_denied', []])
  })

  it('that had begun before a crash and was denied then is not asked about again', async () => {
    const host = memoryHost()
    const first = begin({
      replies: [calls(['sh', {}])],
      tools: [{ ...shell(), invoke: () => new Promise(() => {}) }],
      host,
    })
    await until('the call has begun', () => host.types.includes('tool_call_started'))
    const services = { describeExternal: async () => acting('ls a') }
    const second = memoryHost({ entries: host.entries, services })
    const again = begin({
      replies: [],
      tools: [shell()],
      permissions: [ask],
      host: second,
      spec: from(second),
    })
    await waits(again)
    const third = memoryHost({ entries: second.entries, services })
    third.decide('c1', { approved: false, by: 'ann', reason: 'no' })
    await begin({
      replies: [says('x')],
      tools: [shell()],
      permissions: [ask],
      host: third,
      spec: from(third),
    }).end
    expect(results(third)[0]?.error).toBe('approval_denied')
    expect(third.types.filter((type) => type === 'approval_requested')).toHaveLength(1)
    for (const loop of [first, again]) loop.cancel()
  })
})
