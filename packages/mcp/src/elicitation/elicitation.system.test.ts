// Servers that ask the person in the middle of a call, in both versions of the protocol.
import { type AskPerson, ToolFailure } from '@beaver/agent'
import type { Question, QuestionAnswer } from '@beaver/core/question'
import { rawHttpServer, virtualClock } from '@beaver/testing'
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { bench, quickClock } from '../../test/kit.ts'

const program = new URL('../../test/asking-server.ts', import.meta.url).pathname
const never = (): AbortSignal => new AbortController().signal

const eras = ['2025', '2026'] as const
type Era = (typeof eras)[number]

/**
 * The programs of one protocol, which all tests share: `shop`, and `mute`, whose configuration does not let
 * it ask.
 */
async function startAsking(era: Era, onEnd: (act: () => Promise<void>) => void) {
  const kit = bench({ onTestFinished: onEnd })
  const clock = virtualClock()
  const spec = kit.program(era, { args: [program, era], timeout_ms: 2_000 })
  const connections = await kit.start({ shop: spec, mute: { ...spec, elicitation: false } }, { clock })
  await connections.settled
  /** The result of the call, and what it asked. `null`: it cannot ask. */
  const callOf = async (name: string, answer: QuestionAnswer | AskPerson | null, signal = never()) => {
    const asked: Question[] = []
    const ask: AskPerson = async (question) => {
      asked.push(question)
      return typeof answer === 'function' ? answer(question) : (answer as QuestionAnswer)
    }
    const result = await connections.call(
      { name, callId: 'c', arguments: {} },
      signal,
      answer === null ? undefined : ask,
    )
    return { ...result, asked }
  }
  return {
    clock,
    callOf,
    call: (tool: string, answer: QuestionAnswer | AskPerson | null, signal?: AbortSignal) =>
      callOf(`shop_${tool}`, answer, signal),
  }
}

let of: Record<Era, Awaited<ReturnType<typeof startAsking>>>
beforeAll(async () => {
  const ends: (() => Promise<void>)[] = []
  const onEnd = (act: () => Promise<void>): void => void ends.push(act)
  const [one, other] = await Promise.all([startAsking('2025', onEnd), startAsking('2026', onEnd)])
  of = { '2025': one, '2026': other }
  return async () => void (await Promise.all(ends.map((act) => act())))
})

const accept = (answers: string[]): QuestionAnswer => ({ action: 'accept', answers })

describe.each(eras)('a server with the protocol of %s', (era) => {
  it('gets the answers of a form, with the defaults of what was left out', async () => {
    const { asked, ...result } = await of[era].call('book', {
      action: 'accept',
      content: { room: 'red', guests: 2 },
    })
    expect(result).toMatchObject({ success: true })
    expect(JSON.parse(result.content)).toEqual({
      action: 'accept',
      content: { room: 'red', guests: 2, note: 'none' },
    })
    expect(asked).toMatchObject([
      {
        message: expect.stringContaining('The MCP server shop asks') as string,
        form: { required: ['room', 'guests'] },
      },
    ])
  })

  it('gets a chosen option, a text, and that a person declines or cancels', async () => {
    const { call } = of[era]
    expect(JSON.parse((await call('send', accept(['yes']))).content)).toEqual({
      action: 'accept',
      content: { sure: true },
    })
    expect(JSON.parse((await call('greet', accept(['Ada']))).content)).toEqual({
      action: 'accept',
      content: { name: 'Ada' },
    })
    expect(JSON.parse((await call('greet', { action: 'decline' })).content)).toEqual({ action: 'decline' })
    expect(JSON.parse((await call('greet', { action: 'cancel' })).content)).toEqual({ action: 'cancel' })
  })

  it('has a person open a page', async () => {
    const { content, asked } = await of[era].call('visit', accept(['done']))
    expect(JSON.parse(content)).toEqual({ action: 'accept' })
    expect(asked).toMatchObject([
      { message: expect.stringContaining('https://login.example/start?id=1') as string, options: ['done'] },
    ])
  })

  it.each([
    ['steal', 'asks for a secret'],
    ['lure', 'only http and https'],
    ['crowd', 'has 5000 fields'],
  ])('is declined without a question when it asks to %s, and the model learns why', async (tool, why) => {
    const { content, asked } = await of[era].call(tool, accept(['yes']))
    expect(content).toContain('{"action":"decline"}')
    expect(content).toContain(why)
    expect(asked).toEqual([])
  })

  it('gets a cancel where the call may not ask', async () => {
    const { call } = of[era]
    expect((await call('greet', null)).content).toContain(
      '{"action":"cancel"}\n[Beaver: The MCP server shop asked a question, and this call cannot ask a person.]',
    )
  })

  it('is told that it can ask, unless the configuration says otherwise', async () => {
    const declared = async (server: string) =>
      JSON.parse((await of[era].callOf(`${server}_capabilities`, null)).content) as object
    expect(await declared('shop')).toEqual({ elicitation: { form: { applyDefaults: true }, url: {} } })
    expect(await declared('mute')).toEqual({})
  })

  it('waits for a person longer than a call may take, and has its whole time again then', async () => {
    const { call, clock } = of[era]
    const late: AskPerson = async () => {
      clock.advance(3_600_000)
      return accept(['Ada'])
    }
    expect(await call('greet', late)).toMatchObject({ success: true })
  })

  it('fails the call if the recorded answer belongs to another question', async () => {
    const { call } = of[era]
    const changed: AskPerson = () =>
      Promise.reject(new ToolFailure('question_changed', 'It asked something else.'))
    expect(await call('greet', changed)).toMatchObject({
      success: false,
      error: 'question_changed',
      content: 'It asked something else.',
    })
  })

  it('ends when the call is stopped while somebody is asked', async () => {
    const { call } = of[era]
    const stop = new AbortController()
    const unanswered: AskPerson = () => {
      stop.abort(new Error('enough'))
      return new Promise(() => {})
    }
    expect(await call('greet', unanswered, stop.signal)).toMatchObject({ success: false, error: 'cancelled' })
  })
})

describe('a hostile server', () => {
  it('that asks 10,000 times at once has 20 answers', async () => {
    const { content, asked } = await of['2025'].call('many', accept(['Ada']))
    expect(content).toContain('20 answers')
    expect(content).toContain('asked more than 20 questions')
    expect(asked).toHaveLength(20)
  })

  it('that asks 10,000 times in turn has 20 answers', async () => {
    const { content, asked } = await of['2025'].call('endless', accept(['Ada']))
    expect(content).toContain('20 answers')
    expect(asked).toHaveLength(20)
  })

  it('that wants 10,000 answers with one result gave a bad answer', async () => {
    const { asked, ...result } = await of['2026'].call('many', accept(['Ada']))
    expect(result).toMatchObject({ success: false, error: 'mcp_bad_answer' })
    expect(asked).toEqual([])
  })

  it('that always wants another answer is given up', async () => {
    const { asked, ...result } = await of['2026'].call('endless', accept(['Ada']))
    expect(result).toMatchObject({ success: false, error: 'too_many_questions' })
    expect(asked).toHaveLength(20)
  })

  it.each([
    ['nothing', {}, 'mcp_bad_answer'],
    [
      'something that Beaver does not offer',
      { inputRequests: { a: { method: 'sampling/createMessage', params: {} } } },
      'mcp_bad_answer',
    ],
    ['no request at all', { inputRequests: { a: null } }, 'mcp_bad_answer'],
    ['time, without an end', { requestState: 'x' }, 'too_many_questions'],
  ])('that wants %s fails its call', async (_, wanted, error) => {
    const server = await rawHttpServer({ tools: [{ name: 'go', inputSchema: { type: 'object' } }] })
    onTestFinished(() => server[Symbol.asyncDispose]())
    server.answers['tools/call'] = { resultType: 'input_required', ...wanted }
    const spec = {
      url: server.url,
      headers: {},
      permission: 'allow' as const,
      timeout_ms: 3_600_000,
      restarts_max: 0,
    }
    const connections = await bench({ onTestFinished }).start({ raw: spec }, { clock: quickClock(100) })
    await connections.settled
    expect(await connections.call({ name: 'raw_go', callId: 'c', arguments: {} }, never())).toMatchObject({
      success: false,
      error,
    })
  })
})

it('gives a server its state back as it is, over HTTP', async (test) => {
  const server = await rawHttpServer({ tools: [{ name: 'go', inputSchema: { type: 'object' } }] })
  test.onTestFinished(() => server[Symbol.asyncDispose]())
  const params = {
    message: 'Sure?',
    requestedSchema: { type: 'object', properties: { ok: { type: 'boolean' } } },
  }
  server.answers['tools/call'] = (request) =>
    request.params['inputResponses'] === undefined
      ? {
          resultType: 'input_required',
          requestState: 'sealed "state" é',
          inputRequests: { q: { method: 'elicitation/create', params } },
        }
      : { content: [{ type: 'text', text: 'done' }] }
  const spec = {
    url: server.url,
    headers: {},
    permission: 'allow' as const,
    timeout_ms: 10_000,
    restarts_max: 0,
  }
  const connections = await bench(test).start({ raw: spec })
  await connections.settled
  const result = await connections.call({ name: 'raw_go', callId: 'c', arguments: {} }, never(), async () =>
    accept(['yes']),
  )
  expect(result).toMatchObject({ success: true, content: 'done' })
  const again = server.requests.filter(({ method }) => method === 'tools/call').at(-1)
  expect(again?.params).toMatchObject({
    requestState: 'sealed "state" é',
    inputResponses: { q: { action: 'accept', content: { ok: true } } },
  })
})
