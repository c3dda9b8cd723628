// A canary that an operator removed: every interface that reads the record is asked for it, and the requests
// of models, the read model and the files are searched. `seen` is where it was found before, so that no
// answer can pass because it was asked in the wrong way.
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { methods } from '@agentclientprotocol/sdk'
import { until } from '@beaver/testing'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { editorOf } from '../support/acp.ts'
import { placeIn, type Ran } from '../support/cli.ts'
import { say, use } from '../support/fake-provider.ts'
import { keptCommands } from '../support/kept-system.ts'
import { type ProtocolScene, protocolScene } from '../support/protocol-scene.ts'
import { only } from '../support/system.ts'

/** In a short text, which is part of its record, and in a long one, which is a blob. */
const words = { short: 'xyzzy-plugh', long: 'plover-fee-fie' } as const
const large = `The number ${words.long} of a customer. ${'A line of a file. '.repeat(5_000)}`
const task = 'canary'
const session = 'session-of-canary'

let scene: ProtocolScene
let archive: string
/** The run of the task. */
let root: string

beforeAll(async () => {
  scene = await protocolScene({
    prepare: (workspace) => writeFile(join(workspace, 'large.txt'), large),
    answer: ({ text, results }) => {
      if (!text.includes(words.short)) return undefined
      return results.length === 0
        ? use(['read_file', { path: 'large.txt' }])
        : say(`You said ${words.short}, and the file says ${words.long}.`)
    },
  })
  const { system } = scene
  archive = join(system.workspace, 'archive')
  await system.client.submit({ task: `Remember ${words.short}.`, task_id: task, session_id: session })
  await system.ended(task)
  root = await rootOf(task)
  await until('the projector has it', async () =>
    (await http('/api/v1/search?query=' + words.short)).includes(task),
  )
})
afterAll(() => scene[Symbol.asyncDispose]())

type Sent = Pick<RequestInit, 'method' | 'body'> & { readonly headers?: Readonly<Record<string, string>> }

async function http(path: string, { headers: more = {}, ...init }: Sent = {}): Promise<string> {
  const headers = {
    authorization: `Bearer ${scene.tokens.admin}`,
    'content-type': 'application/json',
    ...more,
  }
  const answer = await fetch(`${scene.gateway.info.url}${path}`, {
    ...init,
    headers,
    signal: AbortSignal.timeout(20_000),
  })
  return `${answer.status} ${await answer.text()}`
}

const a2a = (method: string, params: object): Promise<string> =>
  http('/a2a/beaver', {
    method: 'POST',
    headers: { 'a2a-version': '1.0' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
  })

async function beaver(...args: readonly string[]): Promise<Ran> {
  const env = {
    BEAVER_HOME: scene.projectorHome,
    BEAVER_KEYS: join(scene.system.workspace, '.beaver', 'keys'),
  }
  return (await keptCommands()).run(args, placeIn(scene.server, scene.system, env))
}
const printed = async (...args: readonly string[]): Promise<string> => {
  const { exit, out, err } = await beaver(...args)
  return `${exit === 0 ? '200' : `exit ${exit}`} ${out}${err}`
}

async function all(items: AsyncIterable<unknown>): Promise<string> {
  const read: unknown[] = []
  for await (const item of items) read.push(item)
  return `200 ${JSON.stringify(read)}`
}

const rootOf = async (taskId: string): Promise<string> =>
  only(await scene.system.events(taskId), 'run_started')[0]?.data.run_id ?? ''

/** The read model knows no runs of a log that was archived. */
let archived = false
const readersOfRun = (at: string): Record<string, () => Promise<string>> => ({
  'HTTP, its run': () => http(at),
  'HTTP, what the model was sent': () => http(`${at}/prompt`),
})

/** Every way to read the record of the task, by its name. */
function readers(): Record<string, () => Promise<string>> {
  const { client } = scene.system
  const stream = { accept: 'text/event-stream' }
  return {
    'HTTP, the task': () => http(`/api/v1/tasks/${task}`),
    'HTTP, its events': () => http(`/api/v1/tasks/${task}/events?limit=200`),
    'HTTP, its events as they come': () => http(`/api/v1/tasks/${task}/events`, { headers: stream }),
    'HTTP, its events from a place on': () =>
      http(`/api/v1/tasks/${task}/events?after=1&live=true`, { headers: stream }),
    'HTTP, one event': () => http(`/api/v1/tasks/${task}/events/1`),
    'HTTP, its timeline': () => http(`/api/v1/tasks/${task}/timeline?limit=200`),
    ...(archived ? {} : readersOfRun(`/api/v1/tasks/${task}/runs/${root}`)),
    'HTTP, the tasks': () => http('/api/v1/tasks'),
    'HTTP, the session': () => http(`/api/v1/sessions/${session}`),
    'HTTP, the sessions': () => http('/api/v1/sessions'),
    'OpenAI, the response': () => http(`/v1/responses/resp_${task}`),
    'A2A, GetTask': () => a2a('GetTask', { id: task, historyLength: 10 }),
    'A2A, ListTasks': () => a2a('ListTasks', { includeArtifacts: true }),
    'AG-UI, the events': () => http(`/api/v1/tasks/${task}/ag-ui`, { headers: stream }),
    'client, watch': () => all(client.watch(task)),
    'client, events': () => all(client.events(task)),
    'client, events from a place on': () => all(client.events(task, { after: 1 })),
    'client, one event': async () => `200 ${JSON.stringify(await client.event(task, 1))}`,
    'client, the session': () => all(client.sessions.getEventRecords(session)),
    'client, the history': async () =>
      `200 ${JSON.stringify(await client.sessions.getVisibleHistory(session))}`,
    'ACP, load': async () => {
      await using editor = await editorOf(scene.server, scene.system)
      await editor.agent.request(methods.agent.session.load, {
        sessionId: session,
        cwd: scene.system.workspace,
        mcpServers: [],
      })
      return `200 ${editor.out}`
    },
    ...commands(),
  }
}

/** The commands that read a record, for people and for programs. */
function commands(): Record<string, () => Promise<string>> {
  const found: Record<string, () => Promise<string>> = {}
  for (const args of [
    ['show', task],
    ['timeline', task],
    ['events', task],
    ['watch', task],
    ['session', session],
    ['tasks'],
    ['sessions'],
  ]) {
    found[`beaver ${args[0]}`] = () => printed(...args)
    if (args[0] !== 'watch') found[`beaver ${args[0]} --json`] = () => printed(...args, '--json')
  }
  return found
}

async function askedAll(): Promise<Record<string, string>> {
  const found: Record<string, string> = {}
  for (const [name, read] of Object.entries(readers())) {
    const answer = await read().catch((error: unknown) => `failed ${String(error)}`)
    const has = Object.values(words).filter((word) => answer.includes(word))
    found[name] =
      `${answer.startsWith('200') ? 'read' : answer.slice(0, 300)}${has.map((word) => `, ${word}`).join('')}`
  }
  return found
}

async function filesUnder(folder: string): Promise<string> {
  const names = await readdir(folder, { recursive: true, withFileTypes: true })
  // A file that goes while the folder is read has nothing to say.
  const texts = await Promise.all(
    names
      .filter((name) => name.isFile())
      .map((name) => readFile(join(name.parentPath, name.name), 'latin1').catch(() => '')),
  )
  return texts.join('\n')
}
const wordsIn = (text: string | Buffer): string[] =>
  Object.values(words).filter((word) => text.includes(word))
const readModel = async (): Promise<string[]> => wordsIn(await filesUnder(scene.projectorHome))

/** Every reader reads, and none has a word. */
const nowhere = (): Record<string, string> =>
  Object.fromEntries(Object.keys(readers()).map((name) => [name, 'read']))

describe('a text that an operator removed', () => {
  it('was read everywhere before', async () => {
    const found = await askedAll()
    expect(Object.entries(found).filter(([, what]) => !what.startsWith(`read, ${words.short}`))).toEqual([])
    expect([wordsIn(await scene.server.stored()), await readModel()]).toEqual([
      Object.values(words),
      Object.values(words),
    ])
  })

  it('is read by no interface any more, and is not in the files of the read model', async () => {
    const [result] = only(await scene.system.events(task), 'tool_result_recorded')
    const told = await printed(
      'audit',
      'redact',
      task,
      '--event',
      String(result?.taskseq),
      '--reason',
      'A number of a customer.',
    )
    expect(told).toContain('1 event of canary')
    expect(told).not.toContain('stay in the journal')
    for (const word of Object.values(words))
      expect(await printed('audit', 'redact', task, '--text', word, '--reason', 'A secret.')).toMatch(
        /^200 [\s\S]*stay in the journal: the text is part of the record\. Every export and archive has them, too\./,
      )
    // No projector and no daemon is asked whether it has read it: what is served now must not have it.
    const { client } = scene.system
    expect(wordsIn(await all(client.watch(task)))).toEqual([])
    await until('the projector has read all of it', async () => (await client.query('status')).behind === 0)
    await until('the projector has forgotten', async () => (await readModel()).length === 0)
    await until('the read model is built again', async () =>
      (await http(`/api/v1/tasks/${task}`)).startsWith('200'),
    )
    expect(await askedAll()).toEqual(nowhere())
    expect(await http(`/api/v1/search?query=${words.short}`)).not.toContain(task)
  })

  it('is told to no model in the next task of the session, and nobody finds it there', async () => {
    const { system } = scene
    system.provider.forget()
    await system.client.submit({ task: 'all', task_id: 'next', session_id: session })
    await system.ended('next')
    const asked = system.provider.requests.map((request) => JSON.stringify(request))
    expect(asked.length).toBeGreaterThan(0)
    expect(asked.join()).toContain('[redacted]')
    expect(wordsIn(asked.join())).toEqual([])
    await until('the projector has it', async () => (await http('/api/v1/tasks/next')).includes('completed'))
    const shown = await system.client.query('prompt', { task_id: 'next', run_id: await rootOf('next') })
    expect(shown.messages.map(({ content }) => content)).toEqual(
      system.provider.requests.at(-1)?.messages.map(({ content }) => content),
    )
    expect(await readModel()).toEqual([])
    expect(JSON.parse((await beaver('check', '--json')).out)).toMatchObject({
      ok: true,
      projection: { compared: true },
    })
    const file = join(scene.system.workspace, 'whole.ndjson')
    await beaver('export', '--out', file)
    const checked = await beaver(
      'check',
      '--export',
      file,
      '--projection',
      join(scene.projectorHome, `projection-${scene.system.subjects.namespace}.db`),
      '--json',
    )
    expect(JSON.parse(checked.out)).toMatchObject({ ok: true, projection: { compared: true } })
  })

  it('stays in the files of the journal and in the archive where it is part of its record, as the command says, and the blob is gone', async () => {
    const stored = await scene.server.stored()
    expect([
      stored.includes(words.short),
      stored.includes(words.long),
      stored.includes('A line of a file.'),
    ]).toEqual([true, true, false])
    expect(await printed('archive', '--before', '0s', '--out', archive)).toContain(
      'The first and the last entry of each task stay.',
    )
    archived = true
    const file = join(archive, (await readdir(archive))[0] as string)
    // The archive has the bytes of its records, and says what is read in their place.
    expect(wordsIn(await readFile(file, 'latin1'))).toEqual([words.short, words.long])
    for (const command of ['show', 'events', 'timeline']) {
      const shown = await printed(command, task, '--from', file)
      expect([command, shown.startsWith('200'), shown.includes('[redacted]'), wordsIn(shown)]).toEqual([
        command,
        true,
        true,
        [],
      ])
    }
    expect(await askedAll()).toEqual(nowhere())
  })
})
