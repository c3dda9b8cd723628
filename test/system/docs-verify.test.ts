// The program of docs/how-to/verify-without-beaver.md, run as it is on the page: on honest exports and on changed ones.
import { spawnSync } from 'node:child_process'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { homeKeys } from '@beaver/platform'
import { until } from '@beaver/testing'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type AuditedSystem, auditedSystem } from '../support/audited-system.ts'
import { parsed, resealed, written } from '../support/recorded-journal.ts'

let at: AuditedSystem
/** The thirty lines for a whole journal. */
let thirty: string
/** The same with the lines for parts, blobs and kept checkpoints. */
let program: string
/** The program with the lines that verify who wrote each message. */
let signing: string
let whole: string[]
let part: string[]
beforeAll(async () => {
  for (const [tool, args] of [
    ['python3', '--version'],
    ['openssl', 'version'],
  ] as const)
    // prettier-ignore
    if (spawnSync(tool, [args]).status !== 0) throw new Error(`${tool} is not installed, so the program of verify-without-beaver.md cannot be tested. Install it.`)
  at = await auditedSystem()
  await at.work('loop', 'talk')
  whole = await exported()
  part = await exported('loop')
  const page = await readFile(new URL('../../docs/how-to/verify-without-beaver.md', import.meta.url), 'utf8')
  program = join(at.system.workspace, 'verify.py')
  const [first = '', parts = '', second = ''] = [...page.matchAll(/```python\n([^]*?)```/g)].map(([, text = '']) => text)
  const place = first.split('\n').filter((line) => line.startsWith('need(int(size) <= '))
  expect(place).toHaveLength(1)
  const forParts = first.replace(`${place[0]}\n`, () => parts)
  expect(first.split('\n').filter((line) => line.trim() !== '')).toHaveLength(30)
  thirty = join(at.system.workspace, 'thirty.py')
  await writeFile(thirty, first)
  await writeFile(program, forParts)
  signing = join(at.system.workspace, 'verify-signatures.py')
  await writeFile(signing, forParts + second)
})
afterAll(() => at[Symbol.asyncDispose]())

async function exported(...tasks: string[]): Promise<string[]> {
  const { exit, out, err } = await at.beaver('audit', 'export', ...tasks)
  if (exit !== 0) throw new Error(err)
  return out.trimEnd().split('\n')
}

const valueOf = (lines: readonly string[], name: string): string =>
  String((lines.map((line) => JSON.parse(line) as Record<string, unknown>).find((line) => name in line) ?? {})[name])

const verified = (lines: readonly string[], ...args: string[]): Promise<Said> => run(program, lines, ...args)

interface Said {
  readonly exit: number | null
  readonly says: string
}

async function run(which: string, lines: readonly string[], ...args: string[]): Promise<Said> {
  const { status, stdout, stderr } = spawnSync('python3', [which, await at.file('given.ndjson', lines), ...args], { encoding: 'utf8' })
  return { exit: status, says: (stdout + stderr).trim() }
}

it('verifies an honest export, whole and in part, with the key and a kept checkpoint', async () => {
  const kept = await at.file('kept.txt', [valueOf(whole, 'checkpoint').trimEnd()])
  for (const args of [[], [valueOf(whole, 'key')], [valueOf(whole, 'key'), kept]])
    expect(await verified(whole, ...args)).toEqual({ exit: 0, says: expect.stringMatching(/^verified: \d+ messages, \d+ logs/) as string })
  expect(await verified(part, valueOf(whole, 'key'))).toEqual({ exit: 0, says: expect.stringMatching(/^verified: \d+ messages, \d+ logs/) as string })
})

it('needs thirty lines for a whole journal, and they refuse a part and every change', async () => {
  expect(await run(thirty, whole, valueOf(whole, 'key'))).toEqual({ exit: 0, says: expect.stringMatching(/^verified: \d+ messages, \d+ logs/) as string })
  expect(await run(thirty, part)).toEqual({ exit: 1, says: 'NOT VERIFIED: the messages are not those of a checkpoint' })
  const messages = whole.filter((line) => line.startsWith('{"seq":'))
  const attacks: string[][] = [
    whole.map((line) => line.replace('answer to loop', 'forged')),
    ...[messages[0], messages[1], messages.at(-3)].map((left) => whole.filter((line) => line !== left)),
    whole.map((line) => (line === messages[2] ? (messages[3] as string) : line === messages[3] ? (messages[2] as string) : line)),
    whole.map((line) => (line.startsWith('{"checkpoint":') ? line.replace(/\\n(\d+)\\n/, '\\n1\\n') : line)),
    whole.map((line) => line.replace(/"created":"[^"]+"/, '"created":"2020-01-01T00:00:00Z"')),
  ]
  for (const lines of attacks) expect(await run(thirty, lines)).toEqual({ exit: 1, says: expect.stringContaining('NOT VERIFIED: ') as string })
})

it('verifies who wrote each message, whole and in part, and refuses what nobody trusted wrote', async () => {
  const keys = homeKeys(at.keysFolder)
  const says = expect.stringMatching(new RegExp(`^verified: .*\nsigned: \\d+ messages, by keys that the operator ${keys.makeOperator().id} trusts$`)) as string
  for (const lines of [whole, part]) expect(await run(signing, lines)).toEqual({ exit: 0, says })
  const header = /"signature":"([^"]*)",/
  const ofTask = (line: string): boolean => line.includes('.log.') && header.test(line)
  const other = header.exec(part.findLast(ofTask) ?? '')?.[0] ?? ''
  const [one] = part.filter(ofTask)
  const attacks: [string, string][] = [
    ['', 'is not signed by a key of the role daemon'],
    [other, 'is wrong'],
    [header.exec(part.find((line) => line.includes('.system.')) ?? '')?.[0] ?? '', 'is not signed by a key of the role daemon'],
  ]
  for (const [signature, why] of attacks)
    expect(await run(signing, part.map((line) => (line === one ? line.replace(header, signature) : line)))).toEqual({ exit: 1, says: expect.stringContaining(why) as string }) // prettier-ignore
  const noKeys = part.filter((line) => !line.includes('.system.'))
  const heads = noKeys.filter((line) => !line.startsWith('{"heads":'))
  expect((await run(signing, heads)).exit).toBe(1)
})

it('refuses a changed export, and says why', async () => {
  const messagesOf = (lines: readonly string[]): string[] => lines.filter((line) => line.startsWith('{"seq":'))
  const without = (lines: readonly string[], line: string | undefined): string[] => lines.filter((each) => each !== line)
  const edit = (lines: readonly string[]): string[] => lines.map((line) => line.replace('answer to loop', 'forged'))
  const evidence = (lines: readonly string[]): string[] => lines.filter((line) => !line.startsWith('{"seq":') && !line.startsWith('{"format":'))
  const rechained = (lines: readonly string[]): string[] => [
    ...written(resealed(parsed(edit(lines)))).filter((line) => !line.startsWith('{"blob":')),
    ...evidence(lines),
  ]
  const signed = (lines: readonly string[]): string[] =>
    lines.map((line) => (line.startsWith('{"checkpoint":') ? line.replace(/\\n(\d+)\\n/, (_, n: string) => `\\n${Number(n) - 1}\\n`) : line))
  const attacks: [string[], string][] = [
    [edit(whole), 'was changed'],
    [edit(part), 'was changed'],
    [rechained(part), 'is not in the tree'],
    [rechained(whole), 'the messages are not those of a checkpoint'],
    [without(whole, messagesOf(whole)[1]), 'NOT VERIFIED'],
    [without(part, messagesOf(part)[1]), 'is missing'],
    [without(whole, messagesOf(whole)[0]), 'NOT VERIFIED'],
    [whole.filter((line) => !messagesOf(whole).slice(-3).includes(line)), 'the messages are not those of a checkpoint'],
    [without(part, messagesOf(part).at(-1)), 'a log does not end where it should'],
    [signed(whole), 'a signature is wrong'],
    [signed(part), 'a signature is wrong'],
    [whole.map((line) => line.replace(/"created":"[^"]+"/, '"created":"2020-01-01T00:00:00Z"')), 'a checkpoint is of another journal'],
  ]
  for (const [lines, says] of attacks) {
    const { exit, says: said } = await verified(lines)
    expect([says, exit, said]).toEqual([says, 1, expect.stringContaining(says)])
  }
  // A key that somebody knows refuses what another key signed.
  const stranger = 'BEAVER_x@1+00000000+' + Buffer.concat([Buffer.from([1]), Buffer.alloc(32, 9)]).toString('base64')
  expect(await verified(whole, stranger)).toEqual({ exit: 1, says: 'NOT VERIFIED: a signature is wrong' })
  const later = await at.file('later.txt', [valueOf(whole, 'checkpoint').trimEnd()])
  expect((await verified(without(whole, messagesOf(whole).at(-1)), valueOf(whole, 'key'), later)).exit).toBe(1)
})

it('verifies a journal with an archive by the further lines, and not without them', async () => {
  const page = await readFile(new URL('../../docs/how-to/verify-without-beaver.md', import.meta.url), 'utf8')
  const [, , , before = '', within = ''] = [...page.matchAll(/```python\n([^]*?)```/g)].map(([, text = '']) => text)
  const loop = 'for line in (line for line in lines if "seq" in line):\n'
  const text = await readFile(signing, 'utf8')
  expect(text.split(loop)).toHaveLength(2)
  const archiving = join(at.system.workspace, 'verify-archive.py')
  await writeFile(
    archiving,
    text.replace(loop, () => `${before}${loop}${within}`),
  )
  const honest = { exit: 0, says: expect.stringMatching(/^verified: \d+ messages, \d+ logs.*\nsigned: /) as string }
  expect(await run(archiving, whole)).toEqual(honest)

  expect(await at.beaver('archive', '--before', '0s', '--out', join(at.system.workspace, 'archive'))).toMatchObject({
    exit: 0,
    out: expect.stringMatching(/\d+ messages removed/) as string,
  })
  await until('the projector has read it', async () => (await at.system.client.query('status').catch(() => null))?.behind === 0)
  const [all, some] = [await exported(), await exported('loop')]
  expect(await run(signing, all)).toEqual({ exit: 1, says: expect.stringContaining('NOT VERIFIED: ') as string })
  for (const lines of [all, some]) expect(await run(archiving, lines)).toEqual(honest)
  const events = all.find((line) => line.includes('messages_archived')) ?? ''
  const attacks = [
    all.filter((line) => line !== events),
    all.map((line) => (line === events ? line.replace(/"payloads\\":\[\\"./, (start) => `${start.slice(0, -1)}${start.endsWith('A') ? 'B' : 'A'}`) : line)),
    all.map((line) => (line === events ? line.replace('"sequences\\":[', '"sequences\\":[1') : line)),
  ]
  for (const lines of attacks) {
    expect(lines).not.toEqual(all)
    expect(await run(archiving, lines)).toEqual({ exit: 1, says: expect.stringContaining('NOT VERIFIED: ') as string })
  }
})
