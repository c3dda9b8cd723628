// Every dialect of the Responses API through a whole task on a real daemon: a loop of a tool, a conversation
// that is too long, a team, and the end. Whole and streamed.
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { AgentService } from '@beaver/service'
import { overflowWordings, responsesDialects, responsesDialectsWith } from '@beaver/testing'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { FakeReply, SeenRequest } from '../support/fake-provider.ts'
import { type TestServer, testServer } from '../support/nats.ts'
import { type TestServices, testServices } from '../support/service.ts'

let server: TestServer
let kit: TestServices
let service: AgentService
beforeAll(async () => {
  server = await testServer()
  kit = await testServices(server)
  await writeFile(join(kit.workspace, 'long.txt'), 'It is sunny in Paris. '.repeat(100))
  service = kit.service({
    config: { model: { base_url: kit.provider.url, name: 'fake-model', protocol: 'responses' } },
  })
  await service.start()
})
afterAll(async () => {
  await kit[Symbol.asyncDispose]()
  await server[Symbol.asyncDispose]()
})

const read = { name: 'read_file', arguments: { path: 'long.txt' } }
const team = {
  name: 'SequentialWorkflow',
  arguments: {
    task: 'Say how it is.',
    agents: [
      { name: 'one', instruction: 'Say it.' },
      { name: 'two', instruction: 'Check it.' },
    ],
  },
}
const done = 'It is done well.'

const spoken = new Map(
  responsesDialects.map(({ name }, i) => {
    const of = (asked: { readonly name: string; readonly arguments: object }) =>
      responsesDialectsWith(asked, done)[i]
    return [name, { read: of(read), team: of(team) }] as const
  }),
)

/** The ids of calls and thoughts differ from answer to answer. */
const numbered = (of: object, number: number): string =>
  JSON.stringify(of).replace(/"(call_1|fc_1|fc_call_1|rs_1|rs_resp_1)"/g, `"$1_${number}"`)

/** What a server of the dialect answers. The root reads twice, is too long once, starts a team and ends. */
function replyIn(name: string, { messages, results, stream, text, number }: SeenRequest): FakeReply {
  const { read: reads, team: teams } = spoken.get(name) ?? {}
  if (reads === undefined || teams === undefined) throw new Error(`no dialect ${name}`)
  const worker = !text.includes('weather')
  const references = results.filter((result) => result.startsWith('[result of')).length
  if (!worker && results.length === 2 && references === 0) {
    const wording = overflowWordings.find(({ server: maker }) => maker === (reads.overflow ?? 'OpenAI'))
    return { status: wording?.status ?? 400, body: JSON.stringify(wording?.body) }
  }
  const calls = messages.some(
    ({ role, tool_calls: made = [] }) =>
      role === 'assistant' && made.some(({ function: f }) => f.name === team.name),
  )
  const forms = worker || calls ? reads.answer : results.length < 2 ? reads.call : teams.call
  if (!stream) return { body: numbered(forms.whole, number) }
  const events = forms.streamed.map((event) => `data: ${numbered(event, number)}\n\n`).join('')
  return {
    headers: { 'content-type': 'text/event-stream' },
    body: `${events}${reads.done === true ? 'data: [DONE]\n\n' : ''}`,
  }
}

describe.each([true, false])('streamed: %j', (stream) => {
  it('each dialect reads, is shortened, has a team and ends', async () => {
    const ends: Record<string, unknown> = {}
    const thoughts: Record<string, number> = {}
    for (const { name } of responsesDialects) {
      kit.provider.forget()
      kit.provider.answerBy((request) => replyIn(name, request))
      const {
        status,
        output_text: text,
        failure,
      } = await service.submitDirect(`weather ${name}`, stream ? { onDelta: () => undefined } : {})
      const { requests } = kit.provider
      ends[name] = [
        status,
        failure,
        text,
        requests.length,
        requests.every((request) => request.stream === stream),
      ]
      thoughts[name] = (
        JSON.parse(requests.at(-1)?.body ?? '{}') as { input: { type: string }[] }
      ).input.filter(({ type }) => type === 'reasoning').length
    }
    // Two reads, the one that is too long, the same shortened, two workers, the end.
    expect(ends).toEqual(
      Object.fromEntries(responsesDialects.map(({ name }) => [name, ['completed', null, done, 7, true]])),
    )
    // Each call of the root has its thought to the end.
    expect(thoughts).toEqual(Object.fromEntries(responsesDialects.map(({ name }) => [name, 3])))
  })
})
