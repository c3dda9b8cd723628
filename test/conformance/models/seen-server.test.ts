// What servers said, given to Beaver again: it must make of it what it made when it was seen.
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { dialectsReference } from '../../../scripts/lib/dialects-reference.ts'
import { runProbes } from './run-probes.ts'
import { askedAgain, replay, type SeenServer, seenServerOf, seenServers, seenText } from './seen-server.ts'

const seen = seenServers(fileURLToPath(new URL('./seen', import.meta.url)))
const limits = { stepMsMax: 60_000, signal: new AbortController().signal, pause: async () => undefined }

/** The verdicts of the probes whose answers the file has as a whole. */
function comparable(
  { judged }: { readonly judged: readonly { readonly name: string; readonly result: string }[] },
  missing: readonly string[],
): string[] {
  return judged.flatMap(({ name, result }) => (missing.includes(name) ? [] : [`${name}: ${result}`]))
}

describe.each(seen)('$name, $model by $protocol', (server) => {
  it('is read as it was when it was seen', async () => {
    const run = await runProbes(askedAgain(server), replay(server), limits)
    const cut = new Set(
      server.steps.filter(({ exchanges }) => exchanges.some(({ whole }) => !whole)).map(({ name }) => name),
    )
    const missing = run.judged.flatMap(({ name, step }) => (cut.has(step) ? [name] : []))
    expect(missing.length).toBeLessThan(run.judged.length)
    expect(comparable(run, missing)).toEqual(comparable(server, missing))
  })
})

const first = seen.find(({ name, protocol }) => name === 'aimock' && protocol === 'chat_completions')
if (first === undefined) throw new Error('there is no file of aimock')

it('a file whose answers are others is read otherwise', async () => {
  const changed = JSON.parse(seenText(first).replaceAll('get_weather', 'get_whether')) as SeenServer
  const run = await runProbes(askedAgain(changed), replay(changed), limits)
  expect(run.judged.filter(({ result }) => result === 'failed').map(({ name }) => name)).toEqual([
    'tool call',
    'parallel calls',
    'streamed calls',
  ])
})

it('the file of a run has its requests with a bound, and its answers as they came', async () => {
  const server = {
    ...askedAgain(first),
    baseURL: 'http://models.acme.example/v1',
    model: '/home/me/llama.gguf',
    key: 'k3y-of-the-run',
  }
  const run = await runProbes(server, replay(first), limits)
  const file = seenServerOf(run, server, false, { name: 'Ollama', standIn: false, day: '2026-11-27' })
  expect(file).toMatchObject({
    name: 'Ollama',
    stand_in: false,
    model: '[folder]/llama.gguf',
    seen_on: '2026-11-27',
    asked_with: { openai: false },
  })
  const bodies = ({ steps }: SeenServer) =>
    steps.flatMap(({ exchanges }) => exchanges.map(({ body }) => body))
  expect(bodies(file)).toEqual(bodies(first))
  const requests = file.steps.flatMap(({ exchanges }) => exchanges.map(({ request }) => request))
  expect(requests.filter((request) => request.length > 4_100)).toEqual([])
  expect(requests.at(-1)).toMatch(/… \[\d+ characters\]$/)
  expect(seenText(file)).not.toMatch(/acme|\/home|k3y-of-the-run/)
})

it('the file of a run has no secret that the server wrote into its answers', async () => {
  const key = 'k3y-of-the-run'
  const echoing = JSON.parse(seenText(first).replaceAll('gpt-5-mini', key)) as SeenServer
  const server = { ...askedAgain(first), baseURL: 'http://models.acme.example/v1', key, keyName: 'RUN_KEY' }
  const run = await runProbes(server, replay(echoing), limits)
  expect(run.answeredBy).toBe(key)
  const text = seenText(seenServerOf(run, server, false, { name: 'echo', standIn: true, day: '2026-11-27' }))
  expect(text).not.toContain(key)
  expect(text.split('[secret:RUN_KEY]').length).toBeGreaterThan(5)
})

it('the page says which servers were seen live, and that a stand-in is none', () => {
  const live: SeenServer = {
    ...first,
    name: 'Ollama',
    stand_in: false,
    model: 'llama3',
    seen_on: '2026-12-01',
  }
  const linesWith = (text: string, servers: readonly SeenServer[]): string[] =>
    dialectsReference(servers)
      .split('\n')
      .filter((line) => line.includes(text))
  expect(linesWith('No live server was seen', [first])).toHaveLength(1)
  expect(linesWith('No live server was seen', [first, live])).toEqual([])
  expect(linesWith('2026-12-01', [first, live])).toEqual([
    expect.stringMatching(/^\| Ollama \| .* \| seen live on 2026-12-01 \|/),
    '| Ollama | llama3 | chat_completions | 2026-12-01 | none | none | none |',
  ])
})

it('the README says that no live server was seen as long as there is none', () => {
  const readme = readFileSync(fileURLToPath(new URL('../../../README.md', import.meta.url)), 'utf8')
  expect(readme.includes('no live server was asked yet')).toBe(seen.every((server) => server.stand_in))
})
