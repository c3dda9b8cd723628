// Every dialect through a whole task on a real daemon: a loop of a tool, a conversation that is too long, a
// team, and the end. Whole and streamed.
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { AgentService } from '@beaver/service'
import { dialects, dialectsWith, overflowWordings } from '@beaver/testing'
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
  service = kit.service()
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
  dialects.map(({ name }, i) => {
    const of = (asked: { readonly name: string; readonly arguments: object }) => dialectsWith(asked, done)[i]
    return [name, { read: of(read), team: of(team) }] as const
  }),
)

/** What a server of the dialect answers. The root reads twice, is too long once, starts a team and ends. */
function replyIn(name: string, { messages, results, stream, text }: SeenRequest): FakeReply {
  const { read: reads, team: teams } = spoken.get(name) ?? {}
  if (reads === undefined || teams === undefined) throw new Error(`no dialect ${name}`)
  const worker = !text.includes('weather')
  const references = results.filter((result) => result.startsWith('[result of')).length
  if (!worker && results.length === 2 && references === 0) {
    const wording = overflowWordings.find(({ server }) => server === (reads.overflow ?? 'OpenAI'))
    return { status: wording?.status ?? 400, body: JSON.stringify(wording?.body) }
  }
  const calls = messages.some(
    ({ role, tool_calls: made = [] }) =>
      role === 'assistant' && made.some(({ function: f }) => f.name === team.name),
  )
  const forms = worker || calls ? reads.answer : results.length < 2 ? reads.call : teams.call
  if (!stream) return { body: JSON.stringify(forms.whole) }
  const events = forms.streamed.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('')
  return {
    headers: { 'content-type': 'text/event-stream' },
    body: `${events}${reads.noDone === true ? '' : 'data: [DONE]\n\n'}`,
  }
}

describe.each([true, false])('streamed: %j', (stream) => {
  it('each dialect reads, is shortened, has a team and ends', async () => {
    const ends: Record<string, unknown> = {}
    for (const { name } of dialects) {
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
    }
    // Two reads, the one that is too long, the same shortened, two workers, the end.
    expect(ends).toEqual(
      Object.fromEntries(dialects.map(({ name }) => [name, ['completed', null, done, 7, true]])),
    )
  })
})
