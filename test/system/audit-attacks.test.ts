// Attacks on the record, and what an audit says of each. `before` is what the check of the chain and of the
// rules sees without checkpoints: a record that was written anew as a whole fits itself.
import { createPrivateKey, generateKeyPairSync, type KeyObject, sign } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import {
  auditJournal,
  type AuditResult,
  type GivenCheckpoint,
  LeafTree,
  leafOf,
  openExport,
} from '@beaver/check'
import { checkpointText, noteKeyText, readCheckpoint, signNote, type TreeHead } from '@beaver/core/journal'
import { homeKeys } from '@beaver/platform'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type AuditedSystem, auditedSystem } from '../support/audited-system.ts'
import { addSystemEvent } from '../support/planted-signatures.ts'
import {
  type LooseExport,
  type LooseMessage,
  parsed,
  resealed,
  written,
} from '../support/recorded-journal.ts'

let at: AuditedSystem
let early: string[]
let whole: string[]
let part: string[]
let kept: GivenCheckpoint[]
beforeAll(async () => {
  at = await auditedSystem()
  await at.work('first')
  early = await exported()
  await at.work('loop', 'talk')
  whole = await exported()
  part = await exported('loop')
  kept = [{ note: checkpointOf(whole), from: 'a safe' }]
})
afterAll(() => at[Symbol.asyncDispose]())

async function exported(...tasks: string[]): Promise<string[]> {
  const file = join(at.system.workspace, 'export.ndjson')
  const { exit, err } = await at.beaver('audit', 'export', ...tasks, '--out', file)
  if (exit !== 0) throw new Error(err)
  return (await readFile(file, 'utf8')).trimEnd().split('\n')
}

type Line = Record<string, unknown>
const valueOf = (lines: readonly string[], name: string): string =>
  String((lines.map((line) => JSON.parse(line) as Line).find((line) => name in line) ?? {})[name])
const checkpointOf = (lines: readonly string[]): string => valueOf(lines, 'checkpoint')
const isEvidence = (line: string): boolean => /^\{"(?:key|checkpoint|heads|consistency)":/.test(line)

async function audited(
  lines: readonly string[],
  known: { keys?: string[]; checkpoints?: GivenCheckpoint[]; operator?: string } = {},
): Promise<AuditResult> {
  const source = await openExport(await at.file('tampered.ndjson', lines))
  return auditJournal(source, { now: Date.now(), known: { keys: [], checkpoints: [], ...known } })
}

/** The export after a change, with the evidence that it had. */
function changed(lines: readonly string[], change: (journal: LooseExport) => void): string[] {
  const journal = parsed(lines)
  change(journal)
  return [...written(journal), ...lines.filter(isEvidence)]
}

const noted = { checkpoint: expect.any(Number) as number }
const indexOf = ({ messages }: LooseExport, type: string): number =>
  messages.findIndex(({ records }) => records?.some((record) => record.type.includes(type)))
const answerIn = (journal: LooseExport) => {
  const message = journal.messages[indexOf(journal, 'assistant_message_added')]!
  return message.records!.find(({ type }) => type.includes('assistant_message_added'))!
}

describe('an honest export', () => {
  it('is verified, whole and in part, and says what was checked and what was not', async () => {
    const { broken, checked, not_checked, fits_up_to } = await audited(whole, { checkpoints: kept })
    expect(broken).toEqual({})
    expect(checked.join('\n')).toMatch(
      /every rule of the journal.*\nthe signatures of \d+ messages, by keys that the operator [0-9a-f]{32} trusts\n.*blobs.*\nthe tree over \d+ messages.*\n\d+ of \d+ checkpoints fit/,
    )
    const operator = homeKeys(at.keysFolder).makeOperator().id
    expect(not_checked).toEqual([
      expect.stringContaining(`whether the operator's key ${operator} is the right one`),
      'whether what agents wrote is true',
    ])
    expect((await audited(whole, { operator })).not_checked).toEqual(['whether what agents wrote is true'])
    expect((await audited(whole, { operator })).keys).toBe('given')
    expect((await audited(whole, { operator: 'f'.repeat(32) })).broken).toEqual({ operator: 1 })
    expect(fits_up_to).toBe(readCheckpoint(checkpointOf(whole))?.size)
    const some = await audited(part, {
      keys: [valueOf(part, 'key')],
      checkpoints: [{ note: checkpointOf(part), from: 'here' }],
    })
    expect(some.broken).toEqual({})
    expect(some.checked.join('\n')).toMatch(
      /\d+ messages, each proved to be in the tree of a checkpoint over \d+ messages\nthe signed ends? of \d+ log/,
    )
  })

  it('is verified by the command with no system, and in the system, task by task', async () => {
    const alone = await at.beaverAlone('audit', 'verify', '--offline', await at.file('honest.ndjson', whole))
    expect([alone.exit, alone.err]).toEqual([0, ''])
    expect(alone.out).toMatch(
      /✔ Verified: the journal is what it was at the checkpoint over \d+ messages, signed by the key that came with it\.\n$/,
    )
    const note = await at.file('kept.txt', [checkpointOf(early).trimEnd()])
    for (const args of [[], ['talk'], ['--against', note], ['loop', 'first', '--against', note]]) {
      const { exit, out, err } = await at.beaver('audit', 'verify', ...args)
      expect([args, exit, err, out.split('\n').at(-2)]).toEqual([
        args,
        0,
        '',
        expect.stringMatching(/signed by a key that you know\.$/),
      ])
    }
  })
})

describe('a whole journal that somebody changed', () => {
  const attacks: [string, (journal: LooseExport) => void, before: object][] = [
    ['an event is edited', (journal) => void (answerIn(journal).data['content'] = 'forged'), { hash: 1 }],
    ['the log is chained anew from an edited event on', (journal) => { answerIn(journal).data['content'] = 'forged'; resealed(journal) }, {}], // prettier-ignore
    ['an event is deleted', (journal) => { dropEvent(journal, 'system_prompt_snapshotted'); resealed(journal) }, {}], // prettier-ignore
    ['an event is inserted', (journal) => { repeatEvent(journal, 'system_prompt_snapshotted'); resealed(journal) }, {}], // prettier-ignore
    ['two logs are reordered', (journal) => { reorderLogs(journal); resealed(journal) }, {}], // prettier-ignore
    ['a task is removed', (journal) => { keep(journal, ({ subject }) => !subject.includes('.first.') && !subject.includes('.system.')); resealed(journal) }, {}], // prettier-ignore
    ['the end is cut off', (journal) => { keep(journal, ({ seq }) => seq <= 9); resealed(journal) }, {}], // prettier-ignore
  ]

  it.each(attacks)('%s', async (_, attack, before) => {
    const tampered = changed(whole, attack)
    const { broken } = await audited(tampered)
    expect(broken).toMatchObject({ ...before, ...noted })
    expect(Object.keys(broken).filter((rule) => !(rule in before) && rule !== 'signature')).toEqual([
      'checkpoint',
    ])
    // What somebody wrote anew has no signature that counts. Without the keys and the signatures, the journal
    // of a known operator shows it.
    const bare = changed(tampered, unsigned)
    expect(Object.keys((await audited(bare)).broken)).not.toContain('signature')
    expect(
      (await audited(bare, { operator: homeKeys(at.keysFolder).makeOperator().id })).broken,
    ).toMatchObject({ operator: 1 })
    // Without the evidence of the export, the checkpoint that somebody kept shows it.
    const stripped = tampered.filter((line) => !isEvidence(line))
    expect((await audited(stripped, { checkpoints: kept })).broken).toMatchObject(noted)
  })

  it('is rolled back to an older copy and continued', async () => {
    const later = parsed(whole)
    const continued = changed(early, (journal) => {
      const from = later.messages.filter(
        ({ subject, seq }) => seq > journal.messages.length && subject.includes('.talk.'),
      )
      journal.messages.push(...from)
      unsigned(journal)
    }).filter((line) => !isEvidence(line))
    expect((await audited(continued)).broken).toEqual({})
    expect((await audited(continued)).not_checked).toContain(
      'who wrote the messages: the journal has no operator',
    )
    expect((await audited(continued, { checkpoints: kept })).broken).toEqual({ checkpoint: 1 })
  })

  it('is an older copy than the checkpoint that somebody kept', async () => {
    expect((await audited(early)).broken).toEqual({})
    const { broken, findings } = await audited(early, { checkpoints: kept })
    expect(broken).toEqual({ checkpoint: 1 })
    expect(findings[0]?.message).toMatch(
      /the checkpoint of a safe counts \d+ messages, and the journal has \d+: its end was cut off or replaced/,
    )
  })

  it('is found by the command, with exit code 1', async () => {
    const file = await at.file('re-chained.ndjson', changed(whole, (journal) => { answerIn(journal).data['content'] = 'forged'; resealed(journal) })) // prettier-ignore
    expect((await at.beaverAlone('check', '--export', file)).out).toMatch(
      /signature +first .*the entry with event \d+ is not trusted/,
    )
    const { exit, out } = await at.beaverAlone('audit', 'verify', '--offline', file)
    expect(exit).toBe(1)
    expect(out).toMatch(
      /these are not the first \d+\s+messages of the journal: somebody changed the\s+journal/,
    )
    expect(out).toMatch(/✖ \d+ findings: signature \d+, checkpoint \d+\.\n$/)
    const json = JSON.parse((await at.beaverAlone('audit', 'verify', '--offline', file, '--json')).out) as {
      ok: boolean
      broken: object
    }
    expect(json).toMatchObject({ ok: false, broken: noted })
  })
})

/** Takes everything away that tells who wrote the journal, and chains it anew. */
function unsigned(journal: LooseExport): void {
  keep(journal, ({ subject }) => !subject.includes('.system.'))
  for (const message of journal.messages) delete message.signature
  resealed(journal)
}

function keep(journal: LooseExport, wanted: (message: LooseMessage) => boolean): void {
  journal.messages.splice(0, Infinity, ...journal.messages.filter(wanted))
}

function dropEvent(journal: LooseExport, type: string): void {
  const { records } = journal.messages[indexOf(journal, type)]!
  records!.splice(
    records!.findIndex((record) => record.type.includes(type)),
    1,
  )
}

function repeatEvent(journal: LooseExport, type: string): void {
  const { records } = journal.messages[indexOf(journal, type)]!
  const place = records!.findIndex((record) => record.type.includes(type))
  records!.splice(place, 0, structuredClone(records![place]!))
}

/** Moves the whole log of a task before the first message. */
function reorderLogs(journal: LooseExport): void {
  const ofTalk = ({ subject }: LooseMessage): boolean => subject.includes('.talk.')
  keep(journal, ({ subject }) => !subject.includes('.system.'))
  journal.messages.sort((a, b) => Number(ofTalk(b)) - Number(ofTalk(a)))
}

describe('a part of a journal that somebody changed', () => {
  const line = (lines: readonly string[], n: number): LooseMessage & { proof: string[] } =>
    JSON.parse(lines[n]!) as LooseMessage & { proof: string[] }
  const messages = (lines: readonly string[]): string[] => lines.filter((each) => each.startsWith('{"seq":'))
  const attacks: [string, (lines: string[]) => string[], object][] = [
    [
      'an event is edited',
      (lines) => lines.map((each) => each.replace('answer to loop', 'forged')),
      { hash: 1, inclusion: 1 },
    ],
    ['a log is chained anew', (lines) => rechainPart(lines), { inclusion: expect.any(Number) as number }],
    ['a message is deleted', (lines) => lines.filter((each) => each !== messages(lines)[1]), { taskseq: 1 }],
    [
      'the end is cut off',
      (lines) =>
        lines.filter((each) => each !== messages(lines).findLast((line) => !line.includes('.system.'))),
      { head: 1 },
    ],
    [
      'the key of the projector is cut off',
      (lines) => lines.filter((each) => each !== messages(lines).at(-1)),
      { checkpoint_signature: 1 },
    ],
    [
      'the signatures are gone',
      (lines) =>
        lines.map((each) => (each.includes('.system.') ? each : each.replace(/"signature":"[^"]*",/, ''))),
      { signature: expect.any(Number) as number },
    ],
    [
      'a signature is moved to the next message',
      (lines) =>
        lines.map((each, i) =>
          each.replace(/"signature":"[^"]*",/, /"signature":"[^"]*",/.exec(lines[i - 1] ?? '')?.[0] ?? '$&'),
        ),
      { signature: expect.any(Number) as number },
    ],
    [
      'a task is removed',
      (lines) => lines.filter((each) => !each.startsWith('{"seq":') || each.includes('.system.')),
      { head: 1 },
    ],
    ['a message is inserted', (lines) => lines.toSpliced(2, 0, lines[1]!), { subject: 1, taskseq: 1 }],
    [
      'two messages are reordered',
      (lines) => lines.toSpliced(1, 2, lines[2]!, lines[1]!),
      { taskseq: expect.any(Number) as number },
    ],
    [
      'a proof is changed',
      (lines) =>
        lines.with(
          1,
          JSON.stringify({ ...line(lines, 1), proof: line(lines, 1).proof.toReversed().slice(1) }),
        ),
      { inclusion: 1 },
    ],
    [
      'the proofs are gone',
      (lines) => lines.map((each) => each.replace(/"proof":\[[^\]]*\]/, '"proof":[]')),
      { inclusion: expect.any(Number) as number },
    ],
    ['the ends are gone', (lines) => lines.filter((each) => !each.startsWith('{"heads":')), { head: 1 }],
    [
      'the checkpoint is gone',
      (lines) => lines.filter((each) => !each.startsWith('{"checkpoint":')),
      { inclusion: 1 },
    ],
    [
      'the ends are of an older moment',
      (lines) =>
        lines.map((each) => (each.startsWith('{"heads":') ? JSON.stringify({ heads: olderHeads }) : each)),
      { head: expect.any(Number) as number },
    ],
  ]
  let olderHeads = ''
  beforeAll(async () => {
    olderHeads = valueOf(part, 'heads')
    await at.work('more')
    part = await exported('loop')
  })

  it.each(attacks)('%s', async (_, attack, found) => {
    const tampered = attack([...part])
    expect(tampered).not.toEqual(part)
    expect((await audited(tampered)).broken).toMatchObject(found)
  })

  function rechainPart(lines: readonly string[]): string[] {
    const proofs = new Map(messages(lines).map((each) => [(JSON.parse(each) as { seq: number }).seq, each]))
    const journal = parsed(lines)
    const numbers = journal.messages.map(({ seq }) => seq)
    answerIn(journal).data['content'] = 'forged'
    resealed(journal)
    for (const [i, message] of journal.messages.entries()) message.seq = numbers[i]!
    journal.header['last_sequence'] = (JSON.parse(lines[0]!) as Line)['last_sequence']
    expect(proofs.size).toBe(journal.messages.length)
    return [...written(journal), ...lines.filter(isEvidence)]
  }
})

describe('a checkpoint', () => {
  const mine = generateKeyPairSync('ed25519').privateKey
  const publicOf = (key: KeyObject): Uint8Array =>
    Buffer.from(key.export({ format: 'jwk' }).x ?? '', 'base64url')
  const noteBy = (key: KeyObject, head: TreeHead, name = head.origin): string =>
    signNote(checkpointText(head), { name, publicKey: publicOf(key) }, (bytes) => sign(null, bytes, key))
  const projectorKey = async (): Promise<KeyObject> =>
    createPrivateKey(await readFile(join(at.keysFolder, 'projector.key')))
  const given = (note: string): { checkpoints: GivenCheckpoint[] } => ({
    checkpoints: [{ note, from: 'a safe' }],
  })

  it('with a wrong signature is a finding', async () => {
    const signature = Buffer.from(kept[0]!.note.trimEnd().split(' ').at(-1)!, 'base64')
    signature[20]! ^= 1
    const changedNote = kept[0]!.note.replace(/[^ ]+\n$/, `${signature.toString('base64')}\n`)
    expect((await audited(whole, given(changedNote))).broken).toEqual({ checkpoint_signature: 1 })
  })

  it.each(['operator', 'daemon', 'nobody'] as const)(
    'signed by the key of %s is a finding, even if it fits',
    async (role) => {
      const keys = homeKeys(at.keysFolder)
      const key =
        role === 'nobody' ? mine : (role === 'daemon' ? keys.own('daemon') : keys.makeOperator()).privateKey
      const { broken, findings } = await audited(
        whole,
        given(noteBy(key, readCheckpoint(checkpointOf(whole))!)),
      )
      expect(broken).toEqual({ checkpoint_signature: 1 })
      expect(findings[0]?.message).toMatch(
        role === 'nobody'
          ? /is not signed by a key that the operator trusted/
          : new RegExp(`a key of the role ${role}, not projector`),
      )
    },
  )

  it('of a projector that was revoked is a finding from the revocation on', async () => {
    const { origin } = readCheckpoint(checkpointOf(whole))!
    const revoked = parsed(whole)
    const keys = homeKeys(at.keysFolder)
    addSystemEvent(revoked, 'keys', keys.makeOperator(), 'key_revoked', {
      key_id: keys.own('projector').id,
      reason: 'stolen',
    })
    const lines = written(revoked)
    const tree = new LeafTree()
    for await (const page of (await openExport(await at.file('revoked.ndjson', lines))).pages())
      for (const message of page) tree.append(leafOf(message))
    const auditedAt = async (size: number): Promise<AuditResult> =>
      audited(lines, given(noteBy(await projectorKey(), { origin, size, root: tree.root(size) })))
    expect((await auditedAt(tree.size - 1)).broken).toEqual({})
    const { broken, findings } = await auditedAt(tree.size)
    expect(broken).toEqual({ checkpoint_signature: 1 })
    expect(findings[0]?.message).toMatch(/which the operator revoked before/)
  })

  it('of another namespace, or of a stream that was made again, is a finding', async () => {
    const head = readCheckpoint(checkpointOf(whole))!
    const other = noteBy(
      await projectorKey(),
      { ...head, origin: `BEAVER_other@${head.origin.split('@')[1]}` },
      head.origin,
    )
    const { broken, findings } = await audited(whole, given(other))
    expect(broken).toEqual({ checkpoint: 1 })
    expect(findings[0]?.message).toContain('belongs to another journal')
  })

  it('that contradicts another one is a finding, though the key of the projector signed both', async () => {
    const head = readCheckpoint(checkpointOf(whole))!
    const split = noteBy(await projectorKey(), { ...head, root: Buffer.alloc(32, 7) })
    const { broken, findings } = await audited(whole, given(split))
    expect(broken).toEqual({ checkpoint: 1 })
    expect(findings[0]?.message).toContain('somebody changed the journal')
  })

  it('of a forger verifies what he wrote only for those who take the key that came with it', async () => {
    const forged = changed(whole, (journal) => { answerIn(journal).data['content'] = 'forged'; unsigned(journal) }) // prettier-ignore
    const tree = new LeafTree()
    for await (const page of (await openExport(await at.file('forged.ndjson', forged))).pages())
      for (const message of page) tree.append(leafOf(message))
    const { origin } = readCheckpoint(checkpointOf(whole))!
    const note = noteBy(mine, { origin, size: tree.size, root: tree.root(tree.size) })
    const resigned = [
      ...forged.filter((each) => !isEvidence(each)),
      JSON.stringify({ key: noteKeyText({ name: origin, publicKey: publicOf(mine) }) }),
      JSON.stringify({ checkpoint: note }),
    ]
    const trusting = await audited(resigned)
    expect([trusting.broken, trusting.keys]).toEqual([{}, 'evidence'])
    const knowing = { keys: [valueOf(whole, 'key')] }
    expect((await audited(resigned, knowing)).broken).toEqual({ checkpoint_signature: 1 })
    expect((await audited(whole, knowing)).broken).toEqual({})
  })
})
