// `beaver audit redact` on a real system: texts in blobs are erased from the server's files, texts in records
// are not shown any more, the chain verifies, and a projector that builds its read model from zero agrees.
import { createHash } from 'node:crypto'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { eraseBlob, natsBlobStore } from '@beaver/nats'
import { until } from '@beaver/testing'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { placeIn, type Ran } from '../support/cli.ts'
import { say, use } from '../support/fake-provider.ts'
import { testServer, type TestServer } from '../support/nats.ts'
import { keptCommands } from '../support/kept-system.ts'
import { type ProjectorProcess, projectorProcess } from '../support/projector.ts'
import { only, testSystem, type TestSystem } from '../support/system.ts'

const word = 'xyzzy-plugh'
const large = `The ${word} of a customer. ${'Nobody may read this line. '.repeat(5_000)}`
let server: TestServer
let system: TestSystem
let projector: ProjectorProcess

beforeAll(async () => {
  server = await testServer()
  system = await testSystem(server)
  ;[projector] = await Promise.all([
    projectorProcess({ url: server.url, namespace: system.subjects.namespace }),
    system.daemon(),
  ])
  await writeFile(join(system.workspace, 'large.txt'), large)
  system.provider.answerBy(({ messages }) =>
    messages.at(-1)?.role === 'tool' ? say(`It says ${word}.`) : use(['read_file', { path: 'large.txt' }]),
  )
  await system.client.submit({ task: 'Read it.', task_id: 'reading' })
  await system.ended('reading')
  await seen(() => true)
})
afterAll(async () => {
  await projector[Symbol.asyncDispose]()
  await system[Symbol.asyncDispose]()
  await server[Symbol.asyncDispose]()
})

async function beaver(...args: readonly string[]): Promise<Ran> {
  const env = { BEAVER_HOME: projector.home, BEAVER_KEYS: join(system.workspace, '.beaver', 'keys') }
  return (await keptCommands()).run(args, placeIn(server, system, env))
}

type Answer = Awaited<ReturnType<typeof query>>
const query = () => system.client.query('task', { task_id: 'reading' })
const seen = (look: (answer: Answer) => boolean): Promise<Answer> =>
  until(
    'the projector has it',
    async () => {
      const answer = await query().catch(() => null)
      return answer?.task.status === 'completed' && look(answer) ? answer : false
    },
    { everyMs: 30 },
  )

async function readModel(): Promise<string> {
  const files = (await readdir(projector.home)).filter((name) => name.startsWith('projection-'))
  return Buffer.concat(await Promise.all(files.map((name) => readFile(join(projector.home, name))))).toString(
    'latin1',
  )
}

describe('a text that is a blob', () => {
  it('is erased from the server and forgotten by the read model; the chain verifies and the fold works', async () => {
    const [result] = only(await system.events('reading'), 'tool_result_recorded')
    const taskseq = String(result?.taskseq)
    expect((await server.stored()).includes('Nobody may read this line.')).toBe(true)
    expect(await readModel()).toContain('Nobody may read')

    const redacted = await beaver(
      'audit',
      'redact',
      'reading',
      '--event',
      taskseq,
      '--reason',
      'A customer number.',
    )
    expect(redacted).toMatchObject({ exit: 0, err: '' })
    expect(redacted.out).not.toContain('stay in the journal')
    const after = await seen(({ redactions }) => redactions.length === 1)
    expect(after).toMatchObject({
      chain_ok: true,
      findings: [],
      redactions: [{ taskseq: Number(taskseq), reason: 'A customer number.', bytes: 'erased' }],
    })
    expect((await server.stored()).includes('Nobody may read this line.')).toBe(false)
    // The projector first takes the event in, and then forgets what it says.
    await until('the read model has forgotten', async () => !(await readModel()).includes('Nobody may read'))
    expect(await seen(({ redactions }) => redactions.length === 1)).toMatchObject({
      chain_ok: true,
      findings: [],
    })
    const events = await system.events('reading')
    expect(only(events, 'tool_result_recorded')).toMatchObject([
      { data: { tool_name: 'read_file', success: true, content: '[redacted]' } },
    ])
    expect((await beaver('show', 'reading')).out).toMatch(
      new RegExp(`verified: .*[\\s\\S]*event ${taskseq}: redacted by .* on 20.*: A customer number\\.`),
    )
    const checked = await beaver('check', '--json')
    expect(JSON.parse(checked.out)).toMatchObject({ ok: true })
  })

  it('stays erased when the same content is stored again', async () => {
    const blobs = await natsBlobStore(system.nc, system.subjects)
    const bytes = Buffer.from('"a text that was erased"')
    const sha256 = createHash('sha256').update(bytes).digest('hex')
    await blobs.put(sha256, bytes)
    await eraseBlob(system.nc, system.subjects, sha256)
    await (await natsBlobStore(system.nc, system.subjects)).put(sha256, bytes)
    await expect(blobs.get(sha256)).rejects.toMatchObject({ code: 'blob_missing' })
    expect((await server.stored()).includes('a text that was erased')).toBe(false)
    await expect(eraseBlob(system.nc, system.subjects, sha256)).resolves.toEqual({ chunks: 0 })
  })
})

describe('a text that is part of its record', () => {
  it('is shown nowhere any more, and the command says that its bytes stay', async () => {
    expect((await beaver('search', word)).out).toContain('reading')
    const redacted = await beaver(
      'audit',
      'redact',
      'reading',
      '--text',
      word,
      '--reason',
      'The word is a secret.',
    )
    expect(redacted.exit).toBe(0)
    expect(redacted.out).toMatch(/stay in the journal: the text is part of the record/)
    const after = await seen(({ final_output: output }) => output === 'It says [redacted].')
    expect(after).toMatchObject({ chain_ok: true, findings: [] })
    for (const command of ['show', 'timeline', 'events'])
      expect([command, (await beaver(command, '--json', 'reading')).out.includes(word)]).toEqual([
        command,
        false,
      ])
    expect(JSON.parse((await beaver('check', '--json')).out)).toMatchObject({
      ok: true,
      projection: { compared: true },
    })
  })

  it('can lose a second text after the first', async () => {
    expect(
      (await beaver('audit', 'redact', 'reading', '--text', 'It says', '--reason', 'This too.')).exit,
    ).toBe(0)
    await seen(({ final_output: output }) => output === '[redacted] [redacted].')
    expect((await beaver('search', 'It says')).out).not.toContain('reading')
  })

  it('cannot be redacted without a reason, from a running task, or if there is no such text', async () => {
    expect(await beaver('audit', 'redact', 'reading', '--event', '3')).toMatchObject({ exit: 2 })
    expect(
      (await beaver('audit', 'redact', 'reading', '--text', 'no such text', '--reason', 'x')).err,
    ).toContain('No event of the task reading has such a text.')
    expect((await beaver('audit', 'redact', 'nothing', '--text', 'a', '--reason', 'x')).err).toContain(
      'There is no task',
    )
  })
})

describe('an image', () => {
  const pixels = 'pixels of a customer'
  const gif = Buffer.concat([Buffer.from('GIF89a\u0003\0\u0002\0\u0080\0\0', 'latin1'), Buffer.from(pixels)])

  it('is checked as a blob, is in an export, and is erased with the event that shows it', async () => {
    await writeFile(join(system.workspace, 'card.gif'), gif)
    system.provider.answerBy(() => say('A card.'))
    await system.client.submit({ task: 'What is it?', task_id: 'card', images: ['card.gif'] })
    await system.ended('card')
    expect((await server.stored()).includes(pixels)).toBe(true)
    const clean = JSON.parse((await beaver('check', '--json')).out) as { ok: boolean }
    expect(clean).toMatchObject({ ok: true })
    const base64 = gif.toString('base64')
    const exported = (await beaver('export')).out
    expect(exported).toContain(base64)
    await writeFile(join(system.workspace, 'whole.ndjson'), exported)
    expect(
      JSON.parse((await beaver('check', '--export', join(system.workspace, 'whole.ndjson'), '--json')).out),
    ).toMatchObject({ ok: true })
    // Another image under the hash, or none, is found in the export alone.
    const other = Buffer.from(gif)
    other.set([1], 6)
    await writeFile(
      join(system.workspace, 'other.ndjson'),
      exported.replace(base64, other.toString('base64')),
    )
    const forged = await beaver('check', '--export', join(system.workspace, 'other.ndjson'), '--json')
    expect([forged.exit, forged.out]).toEqual([1, expect.stringContaining('blob_changed')])

    const submitted = (await system.events('card')).find(({ type }) => type === 'task_submitted')
    const redacted = await beaver(
      'audit',
      'redact',
      'card',
      '--event',
      String(submitted?.taskseq),
      '--reason',
      'A card of a customer.',
    )
    expect(redacted).toMatchObject({ exit: 0, err: '' })
    expect((await server.stored()).includes(pixels)).toBe(false)
    expect(JSON.parse((await beaver('check', '--json')).out)).toMatchObject({ ok: true })
    expect((await beaver('export')).out).not.toContain(base64)
    expect((await beaver('show', 'card')).out).toContain('A card.')
  })
})
